// JUnit XML of the runs of a command, for CI systems.
import type { Finding } from '../../contract/core/finding.ts'
import type { CallTimes } from '../../db/trace-writes.ts'
import { printableLine, withoutCommands } from '../../lib/printable.ts'
import { sumOf } from '../../lib/values.ts'
import { failsVerdict } from '../../verdict/findings.ts'
import { type RunSession, type SuiteRun, sessionLabel } from '../run/suite-run.ts'
import { cassetteProblems } from './cassette-lines.ts'
import { taskLines } from './report.ts'

/** One case of a suite. */
export interface JunitCase {
  suite: string
  name: string
  /** Milliseconds. */
  took: number
  failure?: string | undefined
  /** More output of the case. */
  output?: string | undefined
}

/** JUnit XML: a suite per run; a case for the command, each session, each finding, each expectation and each cassette. */
export const junit = (runs: readonly SuiteRun[]): string =>
  junitXml(
    'understudy exec',
    runs.map((run) => ({ name: run.name, took: run.took_ms, cases: casesOf(run) })),
  )

/** A suite of JUnit; `took` in milliseconds. */
type JunitSuite = Pick<JunitCase, 'name' | 'took'> & { cases: readonly JunitCase[] }

/** Suites as JUnit XML, under the name of the command. */
export function junitXml(program: string, suites: readonly JunitSuite[]): string {
  const all = suites.flatMap(({ cases }) => cases)
  const total = sumOf(suites, ({ took }) => took)
  const body = suites.map(({ name, took, cases }) => {
    const attributes = { name, ...countsOf(cases), time: seconds(took) }
    return [`  <testsuite${attributesOf(attributes)}>`, ...cases.map(caseXml), '  </testsuite>'].join('\n')
  })
  const attributes = attributesOf({ name: program, ...countsOf(all), time: seconds(total) })
  return ['<?xml version="1.0" encoding="UTF-8"?>', `<testsuites${attributes}>`, ...body, '</testsuites>', ''].join(
    '\n',
  )
}

function casesOf(run: SuiteRun): JunitCase[] {
  const { name: suite, code, timed_out: timedOut, took_ms: took, strict, findings } = run
  const why = timedOut ? `timed out after ${seconds(took)} s` : `exit code ${code}`
  const unproved = run.verdict === 'inconclusive' ? [{ suite, name: 'verdict', took, failure: unprovedText(run) }] : []
  return [
    { suite, name: 'the command', took, failure: code === 0 ? undefined : why },
    ...unproved,
    ...findings.map((finding, index) => ({
      suite,
      name: nameOf(finding, findings, index),
      took,
      ...resultOf(finding, strict),
    })),
    ...run.sessions.flatMap((session) => sessionCases(session, run)),
    ...(run.cassettes?.sessions ?? []).map((session) => {
      const failure = cassetteProblems(session, strict).join('; ') || undefined
      return { suite, name: `cassette ${session.cassette}`, took, failure }
    }),
  ]
}

/** Why nothing was proved. CI systems have no third result, and a run with exit code 3 must not look passed. */
const unprovedText = ({ inconclusive }: Pick<SuiteRun, 'inconclusive'>) => `INCONCLUSIVE: ${inconclusive.join('; ')}`

function sessionCases(report: RunSession, { name: suite, strict, times }: SuiteRun): JunitCase[] {
  const { session, expectations, notices, tasks } = report
  const unproved = report.verdict === 'inconclusive' ? [unprovedText(report)] : []
  const lines = [...unproved, ...taskLines([tasks]).map((text) => `tasks: ${text}`), ...notices]
  const output = lines.length === 0 ? undefined : lines.join('; ')
  const findings = report.findings
  const label = sessionLabel(report)
  const own = `${suite}.${label}`
  const took = spanOf([...(times.get(session)?.values() ?? [])])
  const broken = [
    ...findings.filter((one) => failsVerdict(one, strict)).map(({ kind }) => kind),
    ...expectations.filter(({ met }) => !met).map(({ expected }) => `not met: ${expected}`),
  ]
  return [
    { suite, name: `session ${label}`, took, failure: broken.length === 0 ? undefined : broken.join('; '), output },
    ...findings.map((finding, index) => {
      const spans = finding.traces.flatMap((id) => times.get(session)?.get(id) ?? [])
      return { suite: own, name: nameOf(finding, findings, index), took: spanOf(spans), ...resultOf(finding, strict) }
    }),
    ...expectations.map(({ expected, actual, met }) => ({
      ...{ suite: own, name: expected, took },
      failure: met ? undefined : actual,
    })),
  ]
}

/** Names a finding without its figures: CI systems follow a case by its name, from run to run. */
function nameOf({ kind, operation }: Finding, findings: readonly Finding[], index: number): string {
  const same = findings.slice(0, index).filter((one) => one.kind === kind && one.operation === operation).length
  return `${kind}${operation === null ? '' : ` in ${operation}`}${same === 0 ? '' : ` (${same + 1})`}`
}

function resultOf(finding: Finding, strict: boolean): Pick<JunitCase, 'failure' | 'output'> {
  const { severity, message, traces, accepted } = finding
  const text = `${message}${traces.length > 0 ? ` (${traces.join(', ')})` : ''}`
  return failsVerdict(finding, strict) ? { failure: text } : { output: `${accepted ? 'accepted' : severity}: ${text}` }
}

/** From the first arrival to the last end. */
function spanOf(spans: readonly CallTimes[]): number {
  const first = spans.reduce((least, { arrived }) => Math.min(least, arrived), Number.POSITIVE_INFINITY)
  return spans.reduce((most, { left }) => Math.max(most, left - first), 0)
}

const countsOf = (cases: readonly JunitCase[]) => ({
  tests: cases.length,
  failures: cases.filter(({ failure }) => failure !== undefined).length,
})

const seconds = (ms: number) => (ms / 1000).toFixed(3)

function caseXml({ suite, name, took, failure, output }: JunitCase): string {
  const start = `    <testcase${attributesOf({ classname: suite, name, time: seconds(took) })}`
  const parts = [
    ...(failure === undefined ? [] : [`<failure${attributesOf({ message: failure })}/>`]),
    ...(output === undefined ? [] : [`<system-out>${xml(output)}</system-out>`]),
  ]
  return parts.length === 0 ? `${start}/>` : `${start}>${parts.join('')}</testcase>`
}

const attributesOf = (values: Record<string, string | number>) =>
  Object.entries(values)
    .map(([name, value]) => ` ${name}="${xml(String(value))}"`)
    .join('')

// XML cannot represent most of what is escaped. A log may be read by a CI runner.
const xml = (text: string): string => Bun.escapeHTML(withoutCommands(printableLine(text)).replaceAll('\t', ' '))
