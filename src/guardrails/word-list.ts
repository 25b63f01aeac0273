// Moderation by word lists: deterministic and predictable, but without judgment. It ignores context and knows one
// language.
/** Words and phrases by topic; each is a part of a regular expression, in lower case, for whole words. */
type WordLists = Readonly<Record<string, readonly string[]>>

/** Invisible characters, by which words are hidden. */
const INVISIBLE = /[\u00ad\u200b-\u200f\u2060\ufeff]/g
const folded = (text: string) => text.normalize('NFKC').replace(INVISIBLE, '').toLowerCase().replace(/\s+/g, ' ')

/** A guardrail with word lists. Its reason names the topics of the words. */
export function wordGuardrail(name: string, lists: WordLists) {
  const topics = Object.entries(lists).map(([topic, words]) => ({
    topic,
    pattern: new RegExp(`(?<![\\p{L}\\p{N}])(?:${words.join('|')})(?![\\p{L}\\p{N}])`, 'u'),
  }))
  /** The topics of the words found in texts. */
  const topicsIn = (texts: readonly string[]) => {
    const fold = texts.map(folded)
    return topics.filter(({ pattern }) => fold.some((text) => pattern.test(text))).map(({ topic }) => topic)
  }
  return {
    name,
    topicsIn,
    async check(texts: readonly string[]) {
      const found = topicsIn(texts)
      return found.length === 0 ? null : `it is about ${found.join(' and ')}`
    },
  }
}
