// Reads legacy completions and their chunks of any origin.
import { asIndex, asObject, asText, type JsonObject, objectsIn } from '../../lib/values.ts'
import { choicesProblem } from '../chat/normalize.ts'

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
export const completionProblem = (value: unknown): string | undefined =>
  choicesProblem(value, normalizeCompletion(value).choices, { field: 'text', isIn: ({ text }) => text !== undefined })
