// Ids equal those of the package ulid for the same time and randomness.
import { expect } from 'bun:test'
import fc from 'fast-check'
import { ulid } from 'ulid'
import { ulidOf } from '../../src/lib/ids.ts'
import { property, runs } from '../support/property.ts'

/** The same id, each digit asked for by a function. */
function slowly(seed: number, now: number, purpose: string, count: number): string {
  let bits = Bun.hash(`${purpose}:${count}`, BigInt(seed))
  let asked = 0
  return ulid(now, () => {
    if (asked++ === 8) bits = Bun.hash(`${purpose}:${count}:more`, BigInt(seed) ^ bits)
    const five = Number(bits & 31n)
    bits >>= 5n
    return five / 32
  })
}

property('id: is the ULID of its time and of the hashes of its purpose and number', () => {
  const instant = fc.oneof(fc.integer({ min: 1, max: 2 ** 48 - 1 }), fc.constantFrom(1, 2 ** 40 - 1, 2 ** 40))
  fc.assert(
    fc.property(fc.nat(), instant, fc.string(), fc.nat(), (seed, now, purpose, count) => {
      expect(ulidOf(seed, now, purpose, count)).toBe(slowly(seed, now, purpose, count))
    }),
    { seed: 1, numRuns: runs(20_000) },
  )
})
