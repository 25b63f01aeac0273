// Values that programs forget about: of any type, where another was wanted.
import type { Chance } from './random.ts'

const TEXTS = [
  '',
  ' ',
  '\u0000',
  'a\r\nx-injected: 1',
  'x'.repeat(300),
  'x'.repeat(20_000),
  '😀'.repeat(60),
  `a${'😀'.repeat(60)}`,
  'é',
  '日本語',
  '\u202e\u200b\ufeff',
  '\ud800',
  'a\udfff',
  '__proto__',
  'constructor',
  'hasOwnProperty',
  '{{',
  '{{#each}}',
  '{{captures.x}}',
  '{% for x in y %}',
  // biome-ignore lint/suspicious/noTemplateCurlyInString: it is the text itself that is sent
  '${x}',
  '../../etc/passwd',
  "' OR 1=1 --",
  '%',
  '-1',
  '1e999',
  'NaN',
  'null',
  'true',
  '2025-02-30T00:00:00Z',
  '9999-12-31T23:59:59.999Z',
  '+275760-09-13T00:00:00.001Z',
  'openai/gpt-4o',
  'openai/',
  '/',
  'nobody/none',
  'data:image/png;base64,AAAA',
  'data:,',
  'https://',
  'http://127.0.0.1:1/',
  '[',
  '(?<a>',
  '\\',
  '$.a[0]',
  'session:x',
  '1h',
  '999999999999999h',
  'outage',
  'system',
  'user',
  'AAAA====',
]
const NUMBERS = [0, -0, -1, 1, 2, 0.1, 100, 1e21, 1e308, -1e308, 5e-324, 2 ** 31, 2 ** 32, 2 ** 53, -(2 ** 53), 8.64e15]
const KEYS = ['__proto__', 'constructor', 'toString', 'length', '', 'a b', '😀', 'type', 'id', '$ref', '\u0000', '0']

/** A text of the strange kind. */
export const hostileText = (chance: Chance): string => chance.pick(TEXTS)

/** A value of any kind. */
export function hostileValue(chance: Chance, depth = 0): unknown {
  switch (chance.below(depth > 2 ? 6 : 10)) {
    case 0:
      return null
    case 1:
      return chance.oneIn(2)
    case 2:
    case 3:
      return chance.pick(NUMBERS)
    case 4:
    case 5:
      return hostileText(chance)
    case 6:
      return Array.from({ length: chance.below(4) }, () => hostileValue(chance, depth + 1))
    case 7:
      return nested(chance.pick([3, 60, 600]))
    case 8:
      return Array.from({ length: 3_000 }, () => 1)
    default:
      return hostileObject(chance, depth)
  }
}

// Made by definition, since `__proto__` in a literal or an assignment is no key.
function hostileObject(chance: Chance, depth: number): object {
  const object = {}
  for (let count = chance.below(4); count > 0; count--) {
    const value = hostileValue(chance, depth + 1)
    Object.defineProperty(object, chance.pick(KEYS), { value, enumerable: true, configurable: true, writable: true })
  }
  return object
}

const nested = (depth: number): unknown =>
  Array.from({ length: depth }).reduce<unknown>((inner, _, index) => (index % 2 ? [inner] : { a: inner }), 1)

/** Bodies that are no JSON, or hardly. */
export const BROKEN_TEXTS: readonly string[] = [
  '',
  '{',
  '{"model":',
  '[',
  'null',
  'true',
  '0',
  '"x"',
  '{}x',
  '{"a":1,"a":2}',
  '\ufeff{}',
  "{'a':1}",
  '{"a":1e400}',
  '{"__proto__":{"model":"openai/gpt-4o"}}',
  `${'['.repeat(100_000)}`,
  `${'{"a":'.repeat(50_000)}1${'}'.repeat(50_000)}`,
  `{"a":"${'x'.repeat(1_000_000)}"}`,
  `[${'0,'.repeat(200_000)}0]`,
  '--x\r\ncontent-disposition: form-data; name="file"\r\n\r\nabc\r\n--x--',
]
/** Bytes that are no UTF-8, in base64. */
export const BROKEN_BYTES: readonly string[] = [
  '//4=',
  '7aCA',
  'eyJhIjoi7aCAIn0=',
  'H4sIAAAAAAAAA6uuBQBDv6ajAgAAAA==',
  'AAAA',
]
