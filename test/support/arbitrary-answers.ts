// Changes that fast-check makes to what a provider really sends: fields dropped, nulled, retyped and added.
import fc from 'fast-check'

type Json = Record<string, unknown>

/** Every place in a value, from the outside in. */
const placesIn = (value: unknown, path: string[] = []): string[][] =>
  typeof value === 'object' && value !== null
    ? Object.entries(value).flatMap(([key, inner]) => [[...path, key], ...placesIn(inner, [...path, key])])
    : []

/** Something that may stand where something else was expected. */
const stray = fc.oneof(
  fc.constantFrom<unknown>(null, '', 'x', 0, -1, 4_294_967_290, true, [], [null], {}, { text: 'x' }, [
    { type: 'text' },
  ]),
  fc.jsonValue({ maxDepth: 2 }),
)
/** One change. */
export interface Change {
  /** Which place, as a share of all. */
  place: number
  how: 'drop' | 'null' | 'retype' | 'add'
  value: unknown
}
export const changeArbitrary: fc.Arbitrary<Change> = fc.record({
  place: fc.double({ min: 0, max: 0.999999, noNaN: true }),
  how: fc.constantFrom('drop', 'null', 'retype', 'add'),
  value: stray,
})

/** A copy of a value with a change made to it. */
export function changedBy(original: unknown, { place, how, value }: Change): unknown {
  const copy = structuredClone(original)
  const places = placesIn(copy)
  const path = places[Math.floor(place * places.length)]
  if (!path) return copy
  const holder = path.slice(0, -1).reduce((inner, key) => (inner as Json)[key] as Json, copy as Json) as Json
  const key = path.at(-1) ?? ''
  if (how === 'drop') Array.isArray(holder) ? holder.splice(Number(key), 1) : delete holder[key]
  else if (how === 'null') holder[key] = null
  else if (how === 'retype') holder[key] = value
  else if (Array.isArray(holder)) holder.push(value)
  else holder[`more_${key}`] = value
  return copy
}
