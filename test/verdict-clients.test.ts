// Nobody who behaves well is accused, and whoever does not is found: thousands of simulated clients before the judge.
import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import type { Finding, FindingKind } from '../src/contract/finding.ts'
import { judgeClient } from '../src/verdict/findings.ts'
import { guiltyDay, plants, slowCrowd } from './support/guilty-clients.ts'
import { innocentDay } from './support/innocent-clients.ts'
import type { Day } from './support/simulated-clients.ts'

// A few seconds of pure work, on a machine that may be busy.
setDefaultTimeout(120_000)
const INNOCENT = 10_000
const GUILTY = 1_000

const judge = ({ calls, accept, end, maxAttempts }: Day): Finding[] =>
  judgeClient(calls, { accept, end, maxAttempts }).findings.filter(({ accepted }) => !accepted)
const seedsUpTo = (count: number) => Array.from({ length: count }, (_, index) => index + 1)

test(`none of ${INNOCENT} well-behaved days has a finding`, () => {
  let calls = 0
  const accused = seedsUpTo(INNOCENT).flatMap((seed) => {
    const day = innocentDay(seed)
    calls += day.calls.length
    return judge(day).map(({ kind, message }) => ({ seed, kind, message }))
  })
  expect(accused.slice(0, 3)).toEqual([])
  // The days are full: a judge of nothing accuses nobody.
  expect(calls).toBeGreaterThan(10 * INNOCENT)
})

describe(`each of ${GUILTY} days with a fault has its finding, and no other that it does not explain`, () => {
  // Who hammers takes no notice of waits either, and stops without an answer.
  const beside: Partial<Record<FindingKind, FindingKind[]>> = { storm: ['early-retry', 'gave-up', 'amplification'] }

  test.each(Object.keys(plants) as (keyof typeof plants)[])('%s', (kind) => {
    const explained = [kind, ...(beside[kind] ?? [])]
    const wrong = seedsUpTo(GUILTY).flatMap((seed) => {
      const kinds = judge(guiltyDay(kind, seed)).map((finding) => finding.kind)
      const isRight = kinds.includes(kind) && kinds.every((one) => explained.includes(one))
      return isRight ? [] : [{ seed, kinds }]
    })
    expect(wrong.slice(0, 3)).toEqual([])
  })

  test('no more requests are said to be without an answer than there are', () => {
    const wrong = seedsUpTo(GUILTY).flatMap((seed) => {
      const found = judge(guiltyDay('gave-up', seed)).filter(({ kind }) => kind === 'gave-up')
      return found.every(({ count }) => count === 1) && found.length === 1 ? [] : [{ seed, found }]
    })
    expect(wrong.slice(0, 3)).toEqual([])
  })

  test("equal calls that come at once, slowly, are nobody's repetition, and those that failed have given up", () => {
    const wrong = seedsUpTo(GUILTY).flatMap((seed) => {
      const { calls, failed } = slowCrowd(seed)
      const found = judgeClient(calls, { end: 'well' }).findings.map(({ kind, count }) => ({ kind, count }))
      return Bun.deepEquals(found, [{ kind: 'gave-up', count: failed }]) ? [] : [{ seed, found }]
    })
    expect(wrong.slice(0, 3)).toEqual([])
  })

  test('wrong-address', () => {
    const missed = seedsUpTo(GUILTY).filter((seed) => {
      const { calls, accept, end } = innocentDay(seed)
      const path = { method: 'POST', count: 1 + (seed % 9), at: '2025-01-01T00:00:00.000Z' }
      const strays = [
        { ...path, path: '/v1/chat/completions', likely: '/v2/router/chat/completions' },
        { ...path, method: 'GET', path: '/favicon.ico', likely: null },
      ]
      const found = judgeClient(calls, { accept, end, strays }).findings.filter(({ accepted }) => !accepted)
      return found.length !== 1 || found[0]?.kind !== 'wrong-address' || found[0].severity !== 'error'
    })
    expect(missed).toEqual([])
  })
})
