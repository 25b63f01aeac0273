// The text report of an exploration: its problems, its figures, and the matrix of injection points and failure modes.
import {
  type CaseResult,
  type CaseVerdict,
  type CoverageNumbers,
  caseName,
  type ExploreProblem,
  type InjectionPoint,
  ROUTE_TARGETS,
  type RouteTable,
} from '../../contract/core/exploration.ts'
import type { Exploration, ExplorationVerdict } from '../../exploration/explore.ts'
import { failureModes } from '../../exploration/failure-modes.ts'
import type { KnownFailure } from '../../exploration/known-failures.ts'
import { TARGET_LABELS } from '../../exploration/routes.ts'
import { counted } from '../../lib/units.ts'
import {
  CASE_STYLES,
  type CaseStyle,
  DERIVED,
  explorationSentence,
  LEFT_OUT,
  listed,
  PROBLEM_TITLES,
} from '../../views/problem-text.ts'
import type { NotEmulatedCalls } from '../run/not-emulated.ts'
import { paint, wrapText } from './output.ts'
import { lengthOf } from './overview.ts'
import { notEmulatedLines, verdictText } from './report.ts'

const COLOURS: Readonly<Record<CaseStyle['tone'], Parameters<typeof paint>[0]>> = {
  good: 'green',
  bad: 'red',
  warning: 'yellow',
  none: 'dim',
}
const painted = (verdict: CaseVerdict, text: string = verdict) => paint(COLOURS[CASE_STYLES[verdict].tone], text)
/** Columns for the name of a failure mode, and for an injection point. */
const NAME = 22
const COLUMN = 4

/** The content of the report. */
export interface ExploreReport {
  found: Exploration
  /** Including accepted known failures. */
  cases: readonly CaseResult[]
  fixed: readonly KnownFailure[]
  coverage: CoverageNumbers
  problems: readonly ExploreProblem[]
  judgement: ExplorationVerdict
  /** Calls of APIs that are not emulated. */
  notEmulated: readonly NotEmulatedCalls[]
  /** The command that runs a case again. */
  repeat(caseId: string): string
  width: number
}

/** The whole report, as lines. */
export function exploreLines(report: ExploreReport): string[] {
  const { found, fixed, problems, repeat } = report
  return [
    `Understudy: explore: ${verdictLine(report)}`,
    '',
    ...problemLines(problems, repeat),
    ...summaryLines(report),
    '',
    ...matrixLines(report),
    ...found.routes.flatMap(routeLines),
    ...fixed.map(
      (known) =>
        `  ${paint('yellow', 'fixed')}     ${known.injection_point} ${known.failure_mode}: remove it from the file of known cases`,
    ),
  ]
}

/** The verdict in a few words. Cases that were not run do not count as passed. */
function verdictLine({ found, cases, problems, judgement }: ExploreReport): string {
  if (judgement.verdict === 'inconclusive') return verdictText(judgement)
  const isPart = judgement.verdict === 'pass' && (found.skipped.length > 0 || found.dropped > 0)
  const partly = isPart ? '; other cases were not run' : ''
  return `${verdictText(judgement)}: ${explorationSentence({ problems, cases })}${partly}`
}

/** Rows are failure modes, columns injection points; as many columns side by side as fit. */
function matrixLines({ found, cases, width }: Pick<ExploreReport, 'found' | 'cases' | 'width'>): string[] {
  const shown = new Set([...cases, ...found.skipped.filter(({ why }) => why === 'time')].map(({ point }) => point))
  const similar = new Set(found.skipped.flatMap(({ point, why }) => (why === 'similar' ? [point] : [])))
  const tried = found.points
    .filter(({ id }) => !similar.has(id))
    .map((point, index) => ({ ...point, number: index + 1 }))
    .filter(({ id }) => shown.has(id))
  const by = new Map(cases.map((result) => [caseName(result), result]))
  const skipped = new Set(found.skipped.map(caseName))
  const wide = Math.max(1, Math.floor((width - NAME) / COLUMN))
  const lines: string[] = []
  for (let first = 0; first < tried.length; first += wide) {
    const block = tried.slice(first, first + wide)
    lines.push(`${''.padEnd(NAME)}${block.map(({ number }) => `p${number}`.padEnd(COLUMN)).join('')}`)
    for (const { name } of failureModes) {
      const signs = block.map((point) => signOf(caseName({ point: point.id, class: name }), by, skipped))
      if (signs.some((sign) => sign !== undefined))
        lines.push(`${name.padEnd(NAME)}${signs.map(inColumn).join('')}`.trimEnd())
    }
    lines.push('')
  }
  const legend = Object.entries(CASE_STYLES).map(([verdict, { sign }]) => `${sign} ${verdict}`)
  const marks = [`${LEFT_OUT} not run`, `${DERIVED} derived`]
  return [...lines, ...tried.flatMap(pointLine), '', [...legend, ...marks].join('  ')]
}

/** The sign of a case, and its width in columns; undefined if the failure mode does not apply. */
function signOf(name: string, by: ReadonlyMap<string, CaseResult>, skipped: ReadonlySet<string>) {
  const found = by.get(name)
  if (!found) return skipped.has(name) ? { text: LEFT_OUT, wide: LEFT_OUT.length } : undefined
  const sign = `${CASE_STYLES[found.verdict].sign}${found.derived ? DERIVED : ''}`
  return { text: painted(found.verdict, sign), wide: sign.length }
}
const inColumn = (sign: ReturnType<typeof signOf>): string =>
  `${sign?.text ?? ''}${' '.repeat(COLUMN - (sign?.wide ?? 0))}`

const pointLine = (point: InjectionPoint & { number: number }): string[] => {
  const { id, label, model, unstable, discovered, number } = point
  const marks = [
    ...(model === null ? [] : [model]),
    ...(unstable ? ['unstable'] : []),
    ...(discovered ? ['discovered'] : []),
    id,
  ]
  return [`  p${String(number).padEnd(COLUMN)}${label}`, `       ${paint('dim', marks.join(', '))}`]
}

/** Which faults of a configuration the gateway hides from the client. */
function routeLines({ route, outcomes }: RouteTable): string[] {
  const failed = outcomes.filter(({ outcome }) => outcome !== 'succeeded')
  const byTarget = (target: string) =>
    failed.filter((one) => one.target === target).map(({ fault, status }) => `${fault} ${status}`)
  const lines = ROUTE_TARGETS.flatMap((target) => {
    const all = outcomes.filter((one) => one.target === target).length
    if (all === 0) return []
    const visible = byTarget(target)
    return [
      `    ${TARGET_LABELS[target]}: ${all - visible.length} of ${all} faults hidden from the client${visible.length > 0 ? `; it receives ${visible.join(', ')}` : ''}`,
    ]
  })
  return [`  route     ${route}`, ...lines]
}

function summaryLines({ found, coverage, notEmulated }: ExploreReport): string[] {
  const { delivered, tolerated, recoveryPaths } = coverage
  const share = ({ of, all }: { of: number; all: number }) => `${of} of ${all}`
  const unstable = found.points.filter((point) => point.unstable)
  const timed = found.skipped.filter(({ why }) => why === 'time').length
  const similar = found.skipped.filter(({ why }) => why === 'similar')
  const calls = new Set(similar.map(({ point }) => point)).size
  return [
    `  runs      ${found.runs}, ${found.saved} saved by pruning; baseline ${lengthOf(found.quietMs)}; hang limit ${lengthOf(found.limitMs)} without activity`,
    found.serialReason !== null &&
      `  serial    the command cannot run in parallel: ${found.serialReason}; its runs were made one at a time`,
    found.leftProcesses &&
      '  left      the command ends and leaves processes running, which are ended with each run: calls that they make later are not tested',
    `  coverage  faults: ${share(delivered)} injected, ${share(tolerated)} tolerated; recovery paths: ${share(recoveryPaths)}`,
    timed > 0 && `  not run   ${counted(timed, 'case')}: stopped, or --budget was reached; --resume continues`,
    calls > 0 &&
      `  not run   ${counted(similar.length, 'case')} of ${counted(calls, 'call')} that are similar to others; --no-prune runs them`,
    ...notEmulatedLines(notEmulated).map((text) => `  ${paint('yellow', 'not emulated')} ${text}`),
    found.dropped > 0 &&
      `  ${paint('red', 'missing')}   ${counted(found.dropped, 'call')} got no fault because their traces were dropped or reset: raise --keep-traces or --keep-trace-bytes`,
    ...unstable.map(({ id }) => `  unstable  ${id} occurred in only one of the two baseline runs`),
  ].filter((line) => line !== false)
}

/** Columns of the list: it is read in terminals and CI logs. */
const WIDTH = 80
const INDENT = '   '
/** Maximum number of calls that a problem names, one in each line. */
const MAX_CALLS = 3

/** The command that reproduces a problem. */
export const problemCommand = ({ cases: [first] }: ExploreProblem, repeat: (caseId: string) => string): string =>
  first ? repeat(caseName(first)) : ''

/** The problems as a numbered list. */
export const problemLines = (problems: readonly ExploreProblem[], repeat: (caseId: string) => string): string[] =>
  problems.flatMap((problem, index) => {
    const { kind, severity, why, calls, classes } = problem
    const indented = (text: string) => wrapText(text, WIDTH - INDENT.length).map((line) => `${INDENT}${line}`)
    const title = `${index + 1}. ${PROBLEM_TITLES[kind]}`
    return [
      `${paint(severity === 'error' ? 'red' : 'yellow', title)}${severity === 'warning' ? ' (warning)' : ''}`,
      ...calls.slice(0, MAX_CALLS).flatMap(indented),
      ...(calls.length > MAX_CALLS ? indented(`and ${counted(calls.length - MAX_CALLS, 'other')}`) : []),
      ...indented(`under ${listed(classes)}`),
      ...indented(why),
      ...commandLines(problemCommand(problem, repeat)).map((line) => `${INDENT}${INDENT}${paint('dim', line)}`),
      '',
    ]
  })

/** A command that a shell reads in one line or in two. */
function commandLines(command: string): string[] {
  const own = command.indexOf(' -- ')
  if (own < 0 || command.length + 2 * INDENT.length <= WIDTH) return [command]
  return [`${command.slice(0, own)} \\`, `  ${command.slice(own + 1)}`]
}
