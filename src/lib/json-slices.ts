// Writes JSON of large values in slices, so that other calls are answered in between.
import { canonicalJson } from './canonical.ts'
import { inSlices } from './slices.ts'
import { wholeParts } from './well-formed.ts'

/** Items of a list, and UTF-16 units of a text, that are written at once. */
const ITEMS = 500
const UNITS = 500_000
/** Values, and 64 UTF-16 units of a text, that are written at once: a snapshot whose values are written one by one takes seven times as long. */
const SMALL = 500

/** The JSON that `JSON.stringify` would write, for a value that came from JSON. */
export const jsonInSlices = (value: unknown): Promise<string> => textInSlices(value, PLAIN)

/** The canonical JSON of such a value, as `canonicalJson` writes it. */
export const canonicalInSlices = (value: unknown): Promise<string> => textInSlices(value, CANONICAL)

async function textInSlices(value: unknown, form: JsonForm): Promise<string> {
  const parts: string[] = []
  await inSlices(jsonParts(value, form), (part) => void parts.push(part))
  return parts.join('')
}

/** SHA-256 of the canonical JSON of such a value, in hexadecimal, as `checksumOf` returns it. */
export async function checksumInSlices(value: unknown): Promise<string> {
  const hash = new Bun.CryptoHasher('sha256')
  await inSlices(jsonParts(value, CANONICAL), (part) => void hash.update(part))
  return hash.digest('hex')
}

/** How small values are written, and the order of the fields of an object. */
interface JsonForm {
  write(value: unknown): string
  ordered(names: string[]): string[]
}
const PLAIN: JsonForm = { write: (value) => JSON.stringify(value) ?? 'null', ordered: (names) => names }
const CANONICAL: JsonForm = { write: canonicalJson, ordered: (names) => names.sort() }

function* jsonParts(value: unknown, form: JsonForm): Generator<string> {
  if (roomAfter(value, SMALL) >= 0) yield form.write(value)
  else if (typeof value === 'string' && value.length > UNITS) yield* textParts(value)
  else if (Array.isArray(value)) yield* listParts(value, form)
  else if (isPlain(value)) yield* fieldParts(value, form)
  else yield form.write(value)
}

/** How many more values may be written with this one; negative if it is too large itself. */
function roomAfter(value: unknown, room: number): number {
  if (typeof value === 'string') return room - 1 - value.length / 64
  if (typeof value !== 'object' || value === null) return room - 1
  let left = room - 1
  for (const inner of Object.values(value)) {
    if (left < 0) break
    left = roomAfter(inner, left)
  }
  return left
}

const isPlain = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !('toJSON' in value)

function* textParts(text: string): Generator<string> {
  yield '"'
  for (const part of wholeParts(text, UNITS)) yield JSON.stringify(part).slice(1, -1)
  yield '"'
}

function* listParts(list: readonly unknown[], form: JsonForm): Generator<string> {
  yield '['
  for (let at = 0; at < list.length; at++) {
    if (at > 0) yield ','
    // Visiting each of many small items takes longer than writing it.
    if (list.length - at <= ITEMS) yield* jsonParts(list[at], form)
    else {
      yield form.write(list.slice(at, at + ITEMS)).slice(1, -1)
      at += ITEMS - 1
    }
  }
  yield ']'
}

function* fieldParts(fields: Record<string, unknown>, form: JsonForm): Generator<string> {
  let separator = '{'
  for (const name of form.ordered(Object.keys(fields))) {
    const field = fields[name]
    if (field === undefined || typeof field === 'function' || typeof field === 'symbol') continue
    yield `${separator}${JSON.stringify(name)}:`
    yield* jsonParts(field, form)
    separator = ','
  }
  yield separator === '{' ? '{}' : '}'
}
