// Values of unknown origin, each read as what it should be or not at all.
import { mayNestTooDeep, nestingProblem } from './nesting.ts'

/** A JSON object whose values are not checked yet. */
export type JsonObject = Record<string, unknown>

/**
 * Whether a value is an object that is not a list.
 * @example
 * isObject({}) // => true
 * isObject([]) // => false
 */
export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/**
 * The value when it is an object that is not a list.
 * @example
 * asObject({ a: 1 }) // => { a: 1 }
 * asObject([1]) // => undefined
 */
export const asObject = (value: unknown): JsonObject | undefined => (isObject(value) ? value : undefined)

/**
 * What a text says as JSON; undefined when it is none, or nested too deep to be written again.
 * @example
 * parsedJson('{"a":1}') // => { a: 1 }
 * parsedJson('{"a":') // => undefined
 */
export function parsedJson(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text)
    return mayNestTooDeep(text) && nestingProblem(value) ? undefined : value
  } catch {
    return undefined
  }
}

/**
 * The value when it is a list, else an empty one.
 * @example
 * asList([1, 2]) // => [1, 2]
 * asList('text') // => []
 */
export const asList = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])

/**
 * The objects in a list, without anything else that is in it.
 * @example
 * objectsIn([{ a: 1 }, 'text', null]) // => [{ a: 1 }]
 * objectsIn('text') // => []
 */
export function objectsIn(value: unknown): JsonObject[] {
  const found: JsonObject[] = []
  for (const item of asList(value)) {
    const object = asObject(item)
    if (object) found.push(object)
  }
  return found
}

/**
 * The value when it is a text.
 * @example
 * asText('a') // => 'a'
 * asText(1) // => undefined
 */
export const asText = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined)

/** Returns a text as it is, and any other value as JSON text; an empty text for a missing one. */
export const textOrJson = (value: unknown): string => asText(value) ?? (value == null ? '' : JSON.stringify(value))

/** The value when it is a place in a list, as a number or as its digits. */
export function asIndex(value: unknown): number | undefined {
  const number = typeof value === 'string' && /^\d{1,9}$/.test(value) ? Number(value) : value
  return Number.isSafeInteger(number) && (number as number) >= 0 ? (number as number) : undefined
}
