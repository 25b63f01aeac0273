// JSON that is written in slices equals the JSON that is written at once.
import { expect } from 'bun:test'
import fc from 'fast-check'
import { checksumOf } from '../../src/lib/canonical.ts'
import { checksumInSlices, jsonInSlices } from '../../src/lib/json-slices.ts'
import { character } from '../support/arbitrary.ts'
import { property, test } from '../support/property.ts'

const words = '"quoted" and \\ and 😀 and ü '.repeat(60_000)
const large = {
  z: Array.from({ length: 1_501 }, (_, index) => ({
    role: 'user',
    content: `line ${index}`,
    at: { b: index, a: null },
  })),
  text: words,
  nothing: undefined,
  a: [words, [], {}, [undefined], { y: 1, x: [words] }],
}

test('JSON in slices: equals JSON.stringify for large values', async () => {
  expect(await jsonInSlices(large)).toBe(JSON.stringify(large))
  expect(await checksumInSlices(JSON.parse(JSON.stringify(large)))).toBe(checksumOf(JSON.parse(JSON.stringify(large))))
})

property('JSON in slices: equals JSON.stringify for any value', async () => {
  await fc.assert(
    fc.asyncProperty(fc.jsonValue({ stringUnit: character }), async (value) => {
      expect(await jsonInSlices(value)).toBe(JSON.stringify(value))
      expect(await checksumInSlices(value)).toBe(checksumOf(value))
    }),
  )
})

test('JSON in slices: keeps a surrogate pair together at the end of a slice', async () => {
  for (const length of [499_999, 500_000, 500_001]) {
    const text = `${'x'.repeat(length)}${'😀'.repeat(300_000)}`
    expect(await jsonInSlices(text)).toBe(JSON.stringify(text))
  }
})
