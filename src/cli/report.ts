// A verification as people read it, and as JUnit XML, which CI systems read.
import { styleText } from 'node:util'
import type { Verification } from '../contract/verification.ts'

/** A number with its noun, such as `2 calls`. */
export const count = (number: number, noun: string): string => `${number} ${noun}${number === 1 ? '' : 's'}`

/** Colours a text where the output is a terminal that shows colours. */
export const paint = (format: Parameters<typeof styleText>[0], text: string): string =>
  styleText(format, text, { stream: process.stdout })
const good = (text: string) => paint('green', text)
const bad = (text: string) => paint('red', text)

/** The report on a session, as lines. */
export function reportLines(report: Verification): string[] {
  const { calls, attempts, paths, rules, expectations } = report
  const taken = Object.entries(paths).filter(([, times]) => times > 0)
  const never = Object.entries(paths).filter(([, times]) => times === 0)
  const line = (title: string, text: string) => `  ${paint('bold', title.padEnd(14))}${text}`
  return [
    line(
      'calls',
      calls === 0 ? bad('none: was the address of this server used?') : `${calls}, ${count(attempts, 'attempt')}`,
    ),
    line('exercised', taken.map(([path, times]) => `${path} (${times})`).join(', ') || 'nothing'),
    line('not exercised', never.map(([path]) => path).join(', ') || 'nothing'),
    ...rules.map((rule) => line('rule', ruleText(rule))),
    ...waitLines(report).map((text) => line('waits', text)),
    ...cancelledLines(report).map((text) => line('cancelled', text)),
    ...fixtureLines(report).map((text) => line('fixtures', text)),
    ...expectations.map(({ expected, actual, met }) =>
      line('expected', `${expected} ${met ? good('ok') : bad(`NOT MET: ${actual}`)}`),
    ),
  ]
}

function ruleText({ name, fault, fired, applied, skipped, idle }: Verification['rules'][number]): string {
  if (idle !== null) return `${name}: never fired, ${idle}`
  const reasons = Object.entries(skipped).map(([reason, times]) => `${times} not: ${reason}`)
  const effect = fault === null ? [] : [`${fault} applied ${applied}`]
  return [`${name}: fired ${fired}`, ...effect, ...reasons].join(', ')
}

function waitLines({ waits: { told, kept, broken } }: Verification): string[] {
  if (told === 0) return []
  const early = broken.map(
    ({ retry_after_ms, called_again_after_ms }) =>
      `${bad('too early')}: called again after ${called_again_after_ms} ms instead of ${retry_after_ms} ms`,
  )
  return [`told to wait ${told}, called again in time ${kept}`, ...early]
}

function cancelledLines({ cancelled }: Verification): string[] {
  if (cancelled.length === 0) return []
  const stillRunning = cancelled.filter(({ provider_stopped }) => !provider_stopped).length
  return [
    `${count(cancelled.length, 'call')} given up by the client${stillRunning > 0 ? `, ${stillRunning} already answered` : ''}`,
  ]
}

function fixtureLines({ fixtures: { unused, unmatched } }: Verification): string[] {
  return [
    ...(unused.length > 0 ? [`answered no call: ${unused.join(', ')}`] : []),
    ...(unmatched.length > 0 ? [`${count(unmatched.length, 'call')} without one`] : []),
  ]
}

/** One run of a command, for JUnit. */
export interface SuiteRun {
  name: string
  /** Exit code of the command. */
  code: number
  report: Verification
}

/** JUnit XML: a suite a run, a case for the command and for each expectation. */
export function junit(runs: readonly SuiteRun[]): string {
  const suites = runs.map(({ name, code, report }) => {
    const cases = [
      { name: 'the command', failure: code === 0 ? undefined : `exit code ${code}` },
      ...report.expectations.map(({ expected, actual, met }) => ({
        name: expected,
        failure: met ? undefined : actual,
      })),
    ]
    const failures = cases.filter(({ failure }) => failure !== undefined).length
    const body = cases.map((one) => testCase(name, one)).join('\n')
    return `  <testsuite name="${xml(name)}" tests="${cases.length}" failures="${failures}">\n${body}\n  </testsuite>`
  })
  return `<?xml version="1.0" encoding="UTF-8"?>\n<testsuites>\n${suites.join('\n')}\n</testsuites>\n`
}

function testCase(suite: string, { name, failure }: { name: string; failure: string | undefined }): string {
  const start = `    <testcase classname="${xml(suite)}" name="${xml(name)}"`
  return failure === undefined ? `${start}/>` : `${start}><failure message="${xml(failure)}"/></testcase>`
}

// XML has no way to write most control characters.
const xml = (text: string): string => Bun.escapeHTML(text.replace(/\p{Cc}/gu, ' '))
