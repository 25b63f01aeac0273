// Type guards and readers for values of unknown origin.
import { parseNested } from './nesting.ts'

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
 * The value if it is an object and not a list; undefined otherwise.
 * @example
 * asObject({ a: 1 }) // => { a: 1 }
 * asObject([1]) // => undefined
 */
export const asObject = (value: unknown): JsonObject | undefined => (isObject(value) ? value : undefined)

/**
 * The value of a JSON text; undefined if it is invalid, or nested too deep to be serialized again.
 * @example
 * parsedJson('{"a":1}') // => { a: 1 }
 * parsedJson('{"a":') // => undefined
 */
export function parsedJson(text: string): unknown {
  try {
    return parseNested(text)
  } catch {
    return undefined
  }
}

/**
 * A percent-encoded part of a URL as text; undefined if its encoding is invalid.
 * @example
 * decodedPart('a%2Fb') // => 'a/b'
 * decodedPart('100%') // => undefined
 */
export function decodedPart(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}

/**
 * The sum of a number of each item.
 * @example
 * sumOf([{ size: 1 }, { size: 2 }], ({ size }) => size) // => 3
 */
export const sumOf = <Item>(items: readonly Item[], number: (item: Item) => number): number =>
  items.reduce((sum, item) => sum + number(item), 0)

/**
 * The index of the first item that passes a test, in a list whose items from there on all pass it; the length of the list if none does.
 * @example
 * firstIndex([1, 3, 5], (number) => number > 2) // => 1
 */
export function firstIndex<Item>(items: readonly Item[], passes: (item: Item) => boolean): number {
  let [low, high] = [0, items.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if (passes(items[middle] as Item)) high = middle
    else low = middle + 1
  }
  return low
}

/**
 * The value if it is a list; an empty list otherwise.
 * @example
 * asList([1, 2]) // => [1, 2]
 * asList('text') // => []
 */
export const asList = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])

/**
 * The objects in a list; other items are omitted.
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
 * The value if it is a string; undefined otherwise.
 * @example
 * asText('a') // => 'a'
 * asText(1) // => undefined
 */
export const asText = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined)

/** A string as it is, any other value as JSON, a missing one as an empty string. */
export const textOrJson = (value: unknown): string => asText(value) ?? (value == null ? '' : JSON.stringify(value))

/**
 * A JSON value with each of its texts changed, names aside. A value without a changed text is returned as it is.
 * @example
 * mapTexts({ a: ['x', 1] }, (text) => text + text) // => { a: ['xx', 1] }
 */
export function mapTexts(value: unknown, change: (text: string) => string): unknown {
  if (typeof value === 'string') return change(value)
  if (Array.isArray(value)) {
    const items = value.map((item) => mapTexts(item, change))
    return items.some((item, index) => item !== value[index]) ? items : value
  }
  if (!isObject(value)) return value
  const entries = Object.entries(value).map(([name, inner]): [string, unknown] => [name, mapTexts(inner, change)])
  return entries.some(([name, inner]) => inner !== value[name]) ? Object.fromEntries(entries) : value
}

/** The value if it is a list index, as a number or as its digits; undefined otherwise. */
export function asIndex(value: unknown): number | undefined {
  const number = typeof value === 'string' && /^\d{1,9}$/.test(value) ? Number(value) : value
  return Number.isSafeInteger(number) && (number as number) >= 0 ? (number as number) : undefined
}
