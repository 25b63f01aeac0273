// How a run differs from the baseline run: which calls are missing, added or changed.
import { expect, test } from 'bun:test'
import { type ComparedCall, runDifference } from '../../src/views/run-difference.ts'

/** A call `id` with the request `request` of the kind `kind`, which succeeded. */
const call = (id: string, request: string, more: Partial<ComparedCall> = {}): ComparedCall => ({
  ...{ id, request, kind: 'chat', outcome: 'succeeded', status: 200, model: 'openai/gpt-4o', broken: false },
  ...more,
})
const FAILED = { outcome: 'http_error', status: 500, model: null, broken: true } as const
const shown = (baseline: ComparedCall[], run: ComparedCall[]) =>
  runDifference(baseline, run).map(({ call: one, baseline: other, change, details }) =>
    [change, one ?? '-', other ?? '-', ...details].join(' '),
  )

test('run difference: is empty for equal runs', () => {
  expect(shown([call('b1', 'x'), call('b2', 'y')], [call('1', 'x'), call('2', 'y')])).toEqual([
    'same 1 b1',
    'same 2 b2',
  ])
})

test('run difference: shows a broken call as changed, and its repetition as added', () => {
  expect(shown([call('b1', 'x'), call('b2', 'y')], [call('1', 'x', FAILED), call('2', 'x'), call('3', 'y')])).toEqual([
    'changed 1 b1 HTTP error (500), not succeeded (200)',
    'added 2 -',
    'same 3 b2',
  ])
})

test('run difference: keeps missing calls at their place', () => {
  const baseline = [call('b1', 'x'), call('b2', 'y'), call('b3', 'z'), call('b4', 'end')]
  expect(shown(baseline, [call('1', 'x', FAILED), call('2', 'z')])).toEqual([
    'changed 1 b1 HTTP error (500), not succeeded (200)',
    'missing - b2',
    'same 2 b3',
    'missing - b4',
  ])
})

test('run difference: pairs calls of a kind whose requests differ, and says so', () => {
  expect(
    shown(
      [call('b1', 'at 10:00'), call('b2', 'x', { kind: 'embeddings' })],
      [call('1', 'at 10:01'), call('2', 'y', { kind: 'images' })],
    ),
  ).toEqual(['changed 1 b1 other request', 'added 2 -', 'missing - b2'])
})

test('run difference: shows a response that the fault changed, and one of another model', () => {
  expect(
    shown([call('b1', 'x'), call('b2', 'y')], [call('1', 'x', { broken: true }), call('2', 'y', { model: 'other/m' })]),
  ).toEqual(['changed 1 b1 response changed by the fault', 'changed 2 b2 response from other/m, not openai/gpt-4o'])
})

test('run difference: pairs equal requests one by one', () => {
  expect(shown([call('b1', 'x'), call('b2', 'x')], [call('1', 'x')])).toEqual(['same 1 b1', 'missing - b2'])
  expect(shown([], [call('1', 'x')])).toEqual(['added 1 -'])
  expect(shown([call('b1', 'x')], [])).toEqual(['missing - b1'])
})
