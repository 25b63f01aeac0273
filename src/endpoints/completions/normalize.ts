// The one reader of legacy completions and of their chunks, whoever made them.
import { asIndex, asList, asObject, asText, type JsonObject, objectsIn } from '../../lib/values.ts'

/** A choice, or what a chunk adds to it. */
interface NormalCompletionChoice {
  index: number
  /** Undefined when it has none. */
  text?: string | undefined
  /** The finish reason; undefined as long as there is none. */
  finish?: string | undefined
}

/** A legacy completion, or one chunk of it. */
interface NormalCompletion {
  /** Everything but choices and counts, as it came. */
  frame: JsonObject
  choices: NormalCompletionChoice[]
  usage?: JsonObject | undefined
}

/** What a completion or a chunk says; what does not make sense in it is left out. */
export function normalizeCompletion(value: unknown): NormalCompletion {
  const { choices, usage, ...frame } = asObject(value) ?? {}
  return {
    frame,
    choices: objectsIn(choices).map(({ index, text, finish_reason: finish }, position) => ({
      index: asIndex(index) ?? position,
      text: asText(text),
      finish: asText(finish) || undefined,
    })),
    usage: asObject(usage),
  }
}

/** Why a value is not a completion, undefined when it is one. A filtered choice need not have a text. */
export function completionProblem(value: unknown): string | undefined {
  const given = asObject(value)
  if (!given) return 'it is not an object'
  const { choices } = normalizeCompletion(given)
  if (choices.length === 0) return "it has no 'choices'"
  if (choices.length < asList(given.choices).length) return 'a choice is not an object'
  const open = choices.findIndex(({ finish }) => finish === undefined)
  if (open >= 0) return `choices[${open}] has no finish reason`
  const empty = choices.findIndex(({ text, finish }) => text === undefined && finish !== 'content_filter')
  return empty < 0 ? undefined : `choices[${empty}] has no 'text'`
}
