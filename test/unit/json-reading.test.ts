// JSON that is read in slices equals the JSON that the runtime reads at once, and invalid JSON is invalid in both.
import { describe, expect, spyOn } from 'bun:test'
import fc from 'fast-check'
import { parseInSlices, TooManyValues } from '../../src/lib/json-reading.ts'
import { NestedTooDeep } from '../../src/lib/nesting.ts'
import { property, runs, test } from '../support/property.ts'

const NOT_VALID = Symbol('http_error')
const atOnce = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return NOT_VALID
  }
}
const inRuns = async (text: string, run: number): Promise<unknown> => {
  try {
    return await parseInSlices(text, { run })
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    return NOT_VALID
  }
}
/** The value, and the order in which its fields come. */
const shown = (value: unknown) => (value === NOT_VALID ? NOT_VALID : JSON.stringify(value))

async function same(text: string): Promise<void> {
  for (const run of [0, 1, 3, 10, 40, 1_000]) {
    const [one, other] = [atOnce(text), await inRuns(text, run)]
    expect([text, run, shown(other)]).toEqual([text, run, shown(one)])
    expect(other).toEqual(one)
  }
}

describe('parseInSlices', () => {
  property('equals JSON.parse for any value, written in any way', async () => {
    const spaced = fc.tuple(fc.jsonValue({ maxDepth: 6 }), fc.constantFrom('', ' ', '\n\t'))
    await fc.assert(
      fc.asyncProperty(spaced, async ([value, space]) => same(JSON.stringify(value, null, space))),
      { numRuns: runs(400) },
    )
  })

  property('equals JSON.parse for long texts with escapes, wherever they are', async () => {
    const piece = fc.constantFrom(
      'a',
      '\\n',
      '\\"',
      '\\\\',
      '\\u00e4',
      '\\ud83d\\ude00',
      '\\ud83d',
      '\\u00',
      'long words ',
      ']',
    )
    const text = fc.array(piece, { minLength: 4, maxLength: 60 }).map((pieces) => `"${pieces.join('')}"`)
    const place = fc.constantFrom(
      ...['T', ' T ', '[T]', '[ 1, T , T]', '[T T]', '[T]T', '{T:1}', '{"a":T}', '{ "a" : T , T:T, "b":[T,{"c":T}]}'],
      ...['{"a":"b":T}', '{"a" T}', '[[[T]]]', '[{},T', '{"a":1,T:T}', '[1 T]', '[,T]', '[T,]', '{"__proto__":T}'],
    )
    await fc.assert(
      fc.asyncProperty(place, text, async (where, long) => same(where.replaceAll('T', () => long))),
      { numRuns: runs(1_500) },
    )
  })

  test('reads no more than 600,000 characters in one go when a text is very long', async () => {
    const read = spyOn(JSON, 'parse')
    const content = '\\u00e4'.repeat(400_000)
    const value = await parseInSlices(`{"messages":[{"content":"${content}"}]}`)
    const longest = Math.max(...read.mock.calls.map(([text]) => text.length))
    read.mockRestore()
    expect(value).toEqual({ messages: [{ content: 'ä'.repeat(400_000) }] })
    expect(longest).toBeLessThan(600_000)
  })

  property('equals JSON.parse for any text of JSON characters, usually invalid', async () => {
    const sign = fc.constantFrom(
      '[',
      ']',
      '{',
      '}',
      ',',
      ':',
      '"',
      '\\',
      '"a"',
      '"a":',
      '1',
      'null',
      ' ',
      '[]',
      '{}',
      '1,',
    )
    await fc.assert(
      fc.asyncProperty(fc.array(sign, { maxLength: 14 }), async (signs) => same(signs.join(''))),
      { numRuns: runs(4_000) },
    )
  })

  property('equals JSON.parse for a valid text with something missing or repeated', async () => {
    const changed = fc.tuple(fc.jsonValue({ maxDepth: 4 }), fc.nat(), fc.nat({ max: 3 }), fc.boolean())
    await fc.assert(
      fc.asyncProperty(changed, async ([value, place, length, twice]) => {
        const text = JSON.stringify(value)
        const at = place % (text.length + 1)
        const part = text.slice(at, at + length)
        await same(twice ? text.slice(0, at) + part + text.slice(at) : text.slice(0, at) + text.slice(at + length))
      }),
      { numRuns: runs(1_000) },
    )
  })

  test.each([
    ['duplicate names', '{"a":1,"b":{"c":1,"c":[2,3]},"a":{"x":[1,2,3]}}'],
    ['names of object properties', '{"__proto__":{"a":[1,2]},"constructor":1,"toString":[{}]}'],
    ['names that are numbers', '{"b":[1,2],"2":1,"1":{"a":[]}}'],
    ['backslashes before the end of a text', '["\\\\","\\"","\\\\\\"",{"\\\\":["\\u0022,"]}]'],
    ['a missing item', '[[1,2],,3]'],
    ['a trailing comma', '[[1,2],[3],]'],
    ['a leading comma', '{,"a":[1]}'],
    ['a token between two items', '[[1,2] 3,4]'],
    ['a token before an item', '[1,2,3 [4,5,6]]'],
    ['two values', '[1,2] [3,4]'],
    ['a space that JSON does not allow', '[[1,2]\u00a0,3]'],
    ['an empty text', ' \n'],
    ['a bare text', '"a, [b"'],
  ])('equals JSON.parse for %s', async (_, text) => same(text))
})

test('parseInSlices: rejects more values than allowed', async () => {
  expect(await parseInSlices('[1,2,{"a":3}]', { most: 6 })).toEqual([1, 2, { a: 3 }])
  expect(parseInSlices('[1,2,3,4,5,6]', { most: 6 })).rejects.toThrow(new TooManyValues('has more than 6 values'))
})

test('parseInSlices: rejects nesting at the 501st level', () => {
  const text = `${'['.repeat(501)}\u0000`
  expect(parseInSlices(text)).rejects.toThrow(new NestedTooDeep('is nested more than 500 levels deep'))
})
