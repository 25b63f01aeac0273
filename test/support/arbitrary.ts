// Requests and mistakes that fast-check makes up, for what every router operation takes.
import fc from 'fast-check'

type Kind = 'string' | 'number' | 'boolean' | 'object' | 'array'
const kindOf = (value: unknown) => (Array.isArray(value) ? 'array' : typeof value)

/** Any JSON value but null that is none of these kinds. */
export const notOf = (...kinds: Kind[]): fc.Arbitrary<unknown> =>
  fc.jsonValue({ maxDepth: 1 }).filter((value) => value !== null && !kinds.includes(kindOf(value) as Kind))

/** Fields that any router call may have, each there, null or left out. */
export const routingFields = {
  name: fc.option(fc.string()),
  identity: fc.option(fc.record({ id: fc.string({ minLength: 1 }) })),
  thread: fc.option(fc.record({ id: fc.string({ minLength: 1 }), tags: fc.array(fc.string(), { maxLength: 3 }) })),
  svc: fc.option(fc.record({ name: fc.string(), retry: fc.record({ on_codes: fc.constant([429, 500]) }) })),
  cache: fc.option(fc.record({ type: fc.constant('exact_match'), ttl: fc.integer({ min: 1, max: 259_200 }) })),
  fallbacks: fc.option(fc.constant([{ model: 'anthropic/claude-sonnet-4' }])),
  metadata: fc.option(
    fc.dictionary(
      fc.string({ maxLength: 64 }).filter((key) => key !== '__proto__'),
      fc.string({ maxLength: 512 }),
      { maxKeys: 16 },
    ),
  ),
  retry: fc.option(fc.record({ count: fc.integer({ min: 1, max: 5 }) })),
  timeout: fc.option(fc.record({ call_timeout: fc.integer({ min: 1_000, max: 60_000 }) })),
}

/** Mistakes in those fields, by field. */
export const routingMistakes: Record<string, fc.Arbitrary<unknown>> = {
  model: fc.oneof(notOf('string'), fc.stringMatching(/^[a-z]{0,9}\/$/)),
  name: notOf('string'),
  metadata: fc.oneof(notOf('object'), fc.constant({ key: 5 })),
  identity: fc.oneof(notOf('object'), fc.constant({})),
  fallbacks: fc.oneof(notOf('array'), fc.constant([{ model: 'none/' }])),
  retry: fc.oneof(notOf('object'), fc.constantFrom({ count: 0 }, { count: 6 }, { on_codes: [99] })),
  cache: fc.oneof(notOf('object'), fc.constantFrom({ type: 'fuzzy' }, { type: 'exact_match', ttl: 0 })),
  timeout: fc.oneof(notOf('object'), fc.constantFrom({}, { call_timeout: 0 })),
  load_balancer: fc.oneof(notOf('object'), fc.constant({ type: 'weight_based', models: [] })),
  thread: fc.oneof(notOf('object'), fc.constant({ id: '' })),
  svc: fc.oneof(notOf('object'), fc.constantFrom({ retry: { count: 9 } }, { thread: {} }, { identity: 'me' })),
}

/** A mistake in one field: its name and the wrong value. */
export const oneOf = (mistakes: Record<string, fc.Arbitrary<unknown>>): fc.Arbitrary<[string, unknown]> =>
  fc.oneof(...Object.entries(mistakes).map(([field, value]) => value.map((wrong): [string, unknown] => [field, wrong])))

const SURROGATES = 0x800
const [FIRST_SURROGATE, LAST_SURROGATE, LAST_CHARACTER] = [0xd800, 0xdfff, 0x10ffff]
/**
 * Any character but half of a pair: what fast-check calls `binary`, with the same values for the same seed. That lists all
 * 1.1 million characters before the first text, which takes half a second and 150 MB of each process.
 */
export const character: fc.Arbitrary<string> = fc.nat(LAST_CHARACTER - SURROGATES).map(
  (number) => String.fromCodePoint(number < FIRST_SURROGATE ? number : number + SURROGATES),
  (text) => {
    const code = typeof text === 'string' ? (text.codePointAt(0) ?? -1) : -1
    if (code < 0 || String.fromCodePoint(code) !== text) return -1
    if (code < FIRST_SURROGATE) return code
    return code > LAST_SURROGATE ? code - SURROGATES : -1
  },
)

const URL_CHARACTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~!$&'()*+,;=:@"
const segment = fc.string({
  unit: fc.oneof(
    { weight: 10, arbitrary: fc.constantFrom(...URL_CHARACTERS) },
    { weight: 1, arbitrary: character.map(encodeURIComponent) },
  ),
})
/** The URL of a page, as `fc.webUrl` makes them: that lists all characters with their escapes when it is called, which takes a second. */
export const webUrl: fc.Arbitrary<string> = fc
  .tuple(fc.constantFrom('http', 'https'), fc.domain(), fc.array(segment))
  .map(([scheme, domain, path]) => [`${scheme}://${domain}`, ...path].join('/'))
