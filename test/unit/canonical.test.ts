// Canonical JSON equals that of another implementation.
import { expect } from 'bun:test'
import canonicalize from 'canonicalize'
import fc from 'fast-check'
import { canonicalJson } from '../../src/lib/canonical.ts'
import { character } from '../support/arbitrary.ts'
import { property, runs, test } from '../support/property.ts'

property('canonicalJson: writes any JSON value as RFC 8785 has it', () => {
  fc.assert(
    fc.property(fc.jsonValue({ stringUnit: character }), (value) => {
      expect(canonicalJson(value)).toBe(canonicalize(value) as string)
    }),
    { numRuns: runs(2_000) },
  )
})

test('canonicalJson: writes half of a character as U+FFFD, in names too', () => {
  expect(canonicalJson({ b: ['\ud800'], '\udc00': 1 })).toBe('{"b":["\ufffd"],"\ufffd":1}')
})

test('canonicalJson: writes all digits of a bigint', () => {
  expect(canonicalJson([2n ** 64n, 1])).toBe('[18446744073709551616,1]')
})
