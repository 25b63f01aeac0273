// JSON with integers of any size. JavaScript's numbers round those above 2^53, so that two of them would be equal.

/** What `JSON` has in ES2026, and its types do not: the text of a number. */
const sources = JSON as unknown as {
  parse(text: string, reviver: (name: string, value: unknown, context: { source: string }) => unknown): unknown
  rawJSON(text: string): unknown
}

/** What a text contains if a number in it has 16 digits or more: nearly none has. */
const LONG_NUMBER = /(?:^|[\s:,[])-?\d{16}/

/**
 * The value of a JSON text that is valid. An integer that a number would round is a bigint.
 * @param value the value with rounded numbers, if it is there already
 * @example
 * exactJson('[9007199254740993, 1]') // => [9007199254740993n, 1]
 */
export function exactJson(text: string, value: unknown = JSON.parse(text)): unknown {
  return LONG_NUMBER.test(text) ? sources.parse(text, exactInteger) : value
}

function exactInteger(_: string, value: unknown, { source }: { source: string }): unknown {
  if (typeof value !== 'number' || Number.isSafeInteger(value) || !/^-?\d+$/.test(source)) return value
  const exact = BigInt(source)
  return Number.isFinite(value) && exact === BigInt(value) ? value : exact
}

/**
 * The JSON text of a value that may contain bigints.
 * @example
 * exactJsonText([9007199254740993n]) // => '[9007199254740993]'
 */
export function exactJsonText(value: unknown): string {
  try {
    return JSON.stringify(value)
  } catch {
    return JSON.stringify(value, (_, inner: unknown) =>
      typeof inner === 'bigint' ? sources.rawJSON(String(inner)) : inner,
    )
  }
}
