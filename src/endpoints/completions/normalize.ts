// Reads legacy completions and their chunks of any origin.
import { asIndex, asList, asObject, asText, type JsonObject, objectsIn } from '../../lib/values.ts'

/** A choice, or the part that a chunk adds. */
interface NormalCompletionChoice {
  index: number
  /** Undefined when it is missing. */
  text?: string | undefined
  /** The finish reason; undefined until it arrives. */
  finish?: string | undefined
}

/** A legacy completion, or one of its chunks. */
interface NormalCompletion {
  /** All fields other than choices and usage. */
  frame: JsonObject
  choices: NormalCompletionChoice[]
  usage?: JsonObject | undefined
}

/** Reads a completion or a chunk; invalid parts are left out. */
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

/** Why a value is not a completion; undefined for a valid one. A filtered choice needs no text. */
export function completionProblem(value: unknown): string | undefined {
  const completion = asObject(value)
  if (!completion) return 'it is not an object'
  const { choices } = normalizeCompletion(completion)
  if (choices.length === 0) return "it has no 'choices'"
  if (choices.length < asList(completion.choices).length) return 'a choice is not an object'
  const open = choices.findIndex(({ finish }) => finish === undefined)
  if (open >= 0) return `choices[${open}] has no finish reason`
  const empty = choices.findIndex(({ text, finish }) => text === undefined && finish !== 'content_filter')
  return empty < 0 ? undefined : `choices[${empty}] has no 'text'`
}
