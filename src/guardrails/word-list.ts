// Moderation by lists of words: deterministic and easy to foresee, but no judgement. It knows no context and one language.
import type { BuiltIn } from './define.ts'

/** Words and phrases by what they are about; each is a piece of a regular expression, in lower case, for whole words. */
type WordLists = Readonly<Record<string, readonly string[]>>

/** Characters without a width or a meaning, by which words are hidden. */
const INVISIBLE = /[\u00ad\u200b-\u200f\u2060\ufeff]/g
const folded = (text: string) => text.normalize('NFKC').replace(INVISIBLE, '').toLowerCase().replace(/\s+/g, ' ')

/** A guardrail over lists of words. */
interface WordGuardrail extends BuiltIn {
  /** What the words that are found in texts are about. */
  topicsIn(texts: readonly string[]): string[]
}

/** A guardrail over lists of words; its reason names what the found ones are about. */
export function wordGuardrail(name: string, lists: WordLists): WordGuardrail {
  const topics = Object.entries(lists).map(([topic, words]) => ({
    topic,
    pattern: new RegExp(`(?<![\\p{L}\\p{N}])(?:${words.join('|')})(?![\\p{L}\\p{N}])`, 'u'),
  }))
  const topicsIn = (texts: readonly string[]) => {
    const fold = texts.map(folded)
    return topics.filter(({ pattern }) => fold.some((text) => pattern.test(text))).map(({ topic }) => topic)
  }
  return {
    name,
    topicsIn,
    async check(texts) {
      const found = topicsIn(texts)
      return found.length === 0 ? null : `it is about ${found.join(' and ')}`
    },
  }
}
