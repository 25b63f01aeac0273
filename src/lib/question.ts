// Identifies requests with the same content, whatever the API, the model and the settings: one may replace the other.
import { fingerprint } from './ids.ts'
import { contentTexts, type QuestionParts, questionParts, type ResultNote } from './question-parts.ts'
import { objectsIn } from './values.ts'
import { type VolatilePart, withoutVolatile } from './volatile.ts'

/** The content of a request. Texts are stored as fingerprints. */
export interface Question {
  /** Equal for requests with the same content in any API: the whole conversation, tools, files, response format. */
  id: string
  /** Also equal for requests that differ in times, dates and random ids. */
  template: string
  /** Those times, dates and ids. */
  volatile: readonly VolatilePart[]
  /** The turns of the conversation, oldest first, without times and ids. */
  turns: readonly string[]
  /** All turns together. */
  dialogue: string
  /** The instructions, without times and ids. */
  instructions: string
  /** Set for a request that asks the model to continue its own text. */
  continues: Continuation | undefined
  /** Entries of a batch, such as texts to embed, each with the rest of the request. */
  entries: readonly string[]
  /** Fingerprints and lengths of its parts, with times and ids. */
  exact: ExactParts
  /** A fingerprint of the text of the model's last turn, without spaces. */
  said: string | undefined
  /** The tool results in its last turn. */
  results: readonly ResultNote[]
}

/** A part of a prompt. */
interface ExactPart {
  print: string
  /** Characters. */
  size: number
}

/** The parts of a prompt in their order. Turns are oldest first. */
interface ExactParts {
  tools: ExactPart
  system: ExactPart
  turns: readonly ExactPart[]
}

/** A request to continue a text of the model. */
interface Continuation {
  /** The dialogue before that text. */
  dialogue: string
  /** That text, without spaces. */
  words: string
}

/** The content of the text of a request. */
export function readQuestion(text: string): Question {
  const parts = partsOf(text)
  if (!parts) return opaqueQuestion(fingerprint(text))
  const { system, turns, entries, rest } = parts
  const volatile: VolatilePart[] = []
  const masked = (part: string): string => {
    const found = withoutVolatile(part)
    volatile.push(...found.parts)
    return found.text
  }
  const maskedSystem = masked(system)
  const prints = turns.map(({ side, parts: pieces, text: turnText }) =>
    fingerprint(JSON.stringify([side, ...pieces.map(masked), masked(turnText)])),
  )
  const whole = turns.map(({ side, parts: pieces, text: turnText }) => JSON.stringify([side, ...pieces, turnText]))
  const last = turns.findLast(({ side }) => side === 'model')
  const batch = turns.length > 0 ? [] : entries
  return {
    id: fingerprint(`${JSON.stringify([system, batch, rest])}${whole.join()}`),
    template: fingerprint(JSON.stringify([maskedSystem, prints, batch.map(masked), masked(rest)])),
    volatile,
    turns: prints,
    dialogue: dialogueOf(prints),
    instructions: fingerprint(maskedSystem),
    continues: continuationIn(parts, prints),
    entries: entries.map((entry) => fingerprint(`${rest} ${entry}`)),
    exact: {
      tools: exactPart(rest),
      system: exactPart(system),
      turns: whole.map(exactPart),
    },
    said: last && wordsPrint(last.text),
    results: turns.at(-1)?.results ?? [],
  }
}

/** A request of unknown content, which equals only itself. */
export const opaqueQuestion = (id: string): Question => ({
  ...{ id, template: id, volatile: [], turns: [], dialogue: id, instructions: id, continues: undefined, entries: [] },
  ...{ exact: { tools: NOTHING, system: NOTHING, turns: [] }, said: undefined, results: [] },
})
const NOTHING: ExactPart = { print: '', size: 0 }

const exactPart = (text: string): ExactPart => ({ print: fingerprint(text), size: text.length })

/** A fingerprint of the content of a request. */
export const questionOf = (text: string): string => readQuestion(text).id

function partsOf(text: string): QuestionParts | undefined {
  try {
    return questionParts(JSON.parse(text))
  } catch {
    return undefined
  }
}

const dialogueOf = (turns: readonly string[]) => fingerprint(turns.join())

/** Phrases of people and programs for a model that was cut off. A new question is not one. */
const GO_ON =
  /\b(?:continu\w*|contin[uú]a\w*|go(?:ing)? on|carry on|keep going|proceed|resume|finish|complete|left off|pick up|rest of|remainder|remaining|cut off|interrupted|keep \w+ing|weiter\w*|fortfahren|fahre? fort|prosegui\w*|suite)\b|继续|繼續|続け|계속/i

function continuationIn({ turns }: QuestionParts, prints: readonly string[]): Continuation | undefined {
  const last = turns.at(-1)
  const continuesAt = last?.side === 'user' && last.parts.length === 0 && GO_ON.test(last.text) ? 1 : 0
  const at = turns.length - 1 - continuesAt
  const continued = turns[at]
  if (continued?.side !== 'model' || at < 1) return undefined
  const ownText = withoutSpaces(continued.text)
  return ownText === '' ? undefined : { dialogue: dialogueOf(prints.slice(0, at)), words: ownText }
}

/** A text without spaces: SDKs trim texts, and join them in different ways. */
const withoutSpaces = (text: string): string => text.replace(/\s+/g, '')

/** The text of a model's response as a trace has it, of any API, without spaces. */
export function answerWords(answer: unknown): string {
  const [whole = {}] = objectsIn([answer])
  const { choices, output, content } = whole
  const messages = objectsIn(choices).flatMap(({ message, text }) => [...objectsIn([message]), { content: text }])
  const items = [...messages, ...objectsIn(output), { content }]
  return withoutSpaces(items.flatMap((item) => contentTexts(item.content)).join(''))
}

/** A fingerprint of words without spaces, as questions have those of the model's last turn. */
export const wordsPrint = (words: string): string => fingerprint(withoutSpaces(words))
