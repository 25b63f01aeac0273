// The rules that reproduce recorded failures: as few as possible, but every attempt keeps its outcome.
import { expect, test } from 'bun:test'
import { type EvidenceAttempt, inOrder } from '../../src/evidence/evidence.ts'
import { rulesOf } from '../../src/evidence/rules.ts'

const FAILED = { kind: 'status', status: 500 } as const
const call = (more: Partial<EvidenceAttempt> = {}): EvidenceAttempt => ({
  ...{
    provider: 'openai',
    model: 'gpt-4o',
    operation: 'chat.completions',
    stream: false,
    outcome: { kind: 'succeeded' },
  },
  ...more,
})

test('rules of evidence: keep a condition without which an attempt would lose its failure', () => {
  const rules = rulesOf([call({ stream: true, outcome: FAILED }), call({ outcome: FAILED }), call()])
  expect(rules).toHaveLength(2)
  expect(rules).toMatchObject([{ calls: { from: 1, to: 1 } }, { calls: { from: 1, to: 1 }, stream: false }])
})

test('rules of evidence: keep a condition without which another attempt would fail', () => {
  const rules = rulesOf([call({ model: 'gpt-4o-mini' }), call({ at: undefined, outcome: FAILED })])
  expect(rules).toMatchObject([{ provider: 'openai', model: 'gpt-4o', calls: { from: 1, to: 1 } }])
})

test('evidence: is in the order of its times, if all attempts have one', () => {
  const timed = [call({ at: 1_500.4 }), call({ at: 500 })]
  expect(inOrder(timed).map(({ at }) => at)).toEqual([0, 1_000])
  expect(inOrder([...timed, call()]).map(({ at }) => at)).toEqual([1_500.4, 500, undefined])
})
