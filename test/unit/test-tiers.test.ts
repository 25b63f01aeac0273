// The files that a tier runs, and the totals of the runner's report: no failure is lost.
import { describe, expect, test } from 'bun:test'
import { filesOf, totalsOf } from '../../src/build/test-tiers.ts'

const FILES = [
  'test/api/chat.test.ts',
  'test/process/serve.test.ts',
  'test/process/smoke.test.ts',
  'test/slow/packages.test.ts',
  'test/unit/ids.test.ts',
]
const textOf = (file: string) => (file.includes('ids') ? "import { runs } from '../support/property.ts'" : '')

describe('test tier files', () => {
  test('fast: functions, requests and smoke tests', () => {
    expect(filesOf('fast', FILES, textOf)).toEqual([
      'test/api/chat.test.ts',
      'test/process/smoke.test.ts',
      'test/unit/ids.test.ts',
    ])
  })
  test('rest: the remaining files, and properties in full', () => {
    expect(filesOf('rest', FILES, textOf)).toEqual([
      'test/process/serve.test.ts',
      'test/slow/packages.test.ts',
      'test/unit/ids.test.ts',
    ])
  })
  test('all: everything', () => {
    expect(filesOf('all', FILES, textOf)).toEqual(FILES)
  })
})

const suite = (
  file: string,
  failures: number,
) => `  <testsuite name="${file}" file="${file}" tests="4" failures="${failures}">
    <testsuite name="inner" file="${file}" tests="4" failures="${failures}">
    </testsuite>
  </testsuite>`
const report = (counts: string, ...suites: string[]) =>
  `<?xml version="1.0"?>\n<testsuites name="bun test" ${counts} time="1">\n${suites.join('\n')}\n</testsuites>\n`

describe('test totals', () => {
  test('count passed tests without skipped ones', () => {
    const xml = report(
      'tests="8" assertions="9" failures="1" skipped="2"',
      suite('a.test.ts', 1),
      suite('b.test.ts', 0),
    )
    expect(totalsOf(xml, 1)).toEqual({ passed: 5, failed: 1, failedFiles: ['a.test.ts'] })
  })
  test('count a file that could not be loaded', () => {
    const xml = report('tests="4" assertions="4" failures="0" skipped="0"', suite('a.test.ts', 0))
    expect(totalsOf(xml, 1, ['a.test.ts', 'b.test.ts'])).toEqual({ passed: 4, failed: 1, failedFiles: ['b.test.ts'] })
  })
  test.each([
    ['fails without a failed test', report('tests="4" failures="0" skipped="0"', suite('a.test.ts', 0)), 1, 4],
    ['writes no report', '', 1, 0],
    ['runs no test', report('tests="0" failures="0" skipped="0"'), 0, 0],
  ])('count a runner that %s as one failure', (_, xml, code, passed) => {
    expect(totalsOf(xml, code)).toEqual({ passed, failed: 1, failedFiles: [] })
  })
  test('have no failure when all passed', () => {
    const xml = report('tests="4" failures="0" skipped="0"', suite('a.test.ts', 0))
    expect(totalsOf(xml, 0, ['a.test.ts'])).toEqual({ passed: 4, failed: 0, failedFiles: [] })
  })
})
