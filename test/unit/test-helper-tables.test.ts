// What `test.each` of @understudy/test passes on to the runner.
import { expect, test } from 'bun:test'
import { withUnderstudy } from '../../packages/test/src/wrap.ts'

test('test.each of the test helper: passes on a table that is a tagged template', () => {
  const tables: unknown[][] = []
  const runner = {
    each: (...table: unknown[]) => {
      tables.push(table)
      return () => {}
    },
  }
  const each = withUnderstudy({ test: runner, afterEach: () => {}, current: () => ({}) }).each
  each`
    a | b
    ${1} | ${2}`('adds $a and $b', ({ a, b }: { a: number; b: number }) => a + b)
  each([[1, 2]] as const)('adds %i and %i', (a, b) => a + b)
  expect(tables).toEqual([[['\n    a | b\n    ', ' | ', ''], 1, 2], [[[1, 2]]]])
})
