// The text report of a verdict.
import { stripVTControlCharacters } from 'node:util'
import { refusedText } from '../../app/refused-calls.ts'
import { EMULATED_APIS } from '../../compat/not-emulated.ts'
import type { Finding } from '../../contract/core/finding.ts'
import type { RuleReport } from '../../contract/core/rule-report.ts'
import type { ExpectationReport, TaskCounts, Verification } from '../../contract/core/verification.ts'
import { shellLine } from '../../lib/shell-line.ts'
import { counted } from '../../lib/units.ts'
import { sumOf } from '../../lib/values.ts'
import { notSentTexts } from '../../verdict/inconclusive.ts'
import { recoveryPathLines } from '../run/coverage-file.ts'
import type { NotEmulatedCalls } from '../run/not-emulated.ts'
import { type RunSession, type SuiteRun, sessionLabel } from '../run/suite-run.ts'
import { cassetteLines, countsByName } from './cassette-lines.ts'
import { paint, wrapLine } from './output.ts'
import { lengthOf } from './overview.ts'

const good = (text: string) => paint('green', text)
const bad = (text: string) => paint('red', text)
/** Columns of a title. */
const TITLE = 14
const line = (title: string, text: string) => `  ${paint('bold', title.padEnd(TITLE))}${text}`
const indented = (text: string) => `  ${text}`

/** The report on a run: its verdict, what failed, its sessions together, then each one, failed ones first. */
export function runLines(run: SuiteRun): string[] {
  const { sessions, strict, findings } = run
  const several = sessions.length > 1
  const single = several ? [] : sessions
  return [
    `Understudy: ${run.name}: ${runVerdict(run)}${run.stopped ? ' (stopped early)' : ''}`,
    ...findings.map((finding) => findingLine(finding, strict)),
    ...single.flatMap((only) => [...partLines(only), ...wrongLines(only, strict)]),
    ...(sessions.some(wentAstray) ? [line('address', `${run.url}/v1 (OPENAI_BASE_URL)`)] : []),
    ...(several ? [line('sessions', String(sessions.length))] : []),
    ...togetherLines(sessions),
    ...notEmulatedLines(run.not_emulated).map((text) => line('not emulated', text)),
    ...run.refused.map((calls) => line('refused', refusedText(calls))),
    ...(run.cassettes ? cassetteLines(run.cassettes).map(([title, text]) => line(title, text)) : []),
    ...timeLines(run.clocks).map((text) => line('time', text)),
    ...recoveryPathLines(run.recovery_paths).map((text) => line('configured', text)),
    ...single.flatMap((only) => rightLines(only, strict)),
    ...run.unmatched_rules.map((rule) => line('rule', `${rule}: ${bad('not triggered')}: no session matched`)),
    ...(several ? sessions.flatMap((one) => sessionLines(one, strict)) : []),
    ...savedLines(run),
  ]
}

/** The calls of APIs that are not emulated, by API, and what that means. */
export function notEmulatedLines(calls: readonly NotEmulatedCalls[]): string[] {
  if (calls.length === 0) return []
  const apis = Map.groupBy(calls, ({ api, variable }) => `${api} (${variable})`)
  const lines = [...apis].map(([api, same]) => {
    const total = sumOf(same, ({ count }) => count)
    return `${api}: ${counted(total, 'call')}, ${same.map(({ method, path }) => `${method} ${path}`).join(', ')}`
  })
  return [...lines, `only calls to ${EMULATED_APIS} are covered`]
}

/** A verdict as printed: PASS, FAIL, or INCONCLUSIVE with its reasons. */
export function verdictText({ verdict, inconclusive }: Pick<SuiteRun, 'verdict' | 'inconclusive'>): string {
  if (verdict === 'pass') return good('PASS')
  if (verdict === 'fail') return bad('FAIL')
  return `${paint('yellow', 'INCONCLUSIVE')}: ${inconclusive.join('; ')}`
}

/** The verdict on a run, with the exit code of the command and the number of findings. */
function runVerdict(run: SuiteRun): string {
  const { code, sessions, findings, took_ms: took, timed_out: timedOut } = run
  const broken = sessions.filter((one) => one.verdict === 'fail').length
  const share = sessions.length > 1 && broken > 0 ? `, ${broken} of ${counted(sessions.length, 'session')} failed` : ''
  const open = [...findings, ...sessions.flatMap((one) => one.findings)].filter(isOpen)
  const warnings = open.filter(({ severity }) => severity === 'warning').length
  const warned = warnings > 0 ? `, with ${counted(warnings, 'warning')}` : ''
  const ended = timedOut
    ? `: the command was ended after ${lengthOf(took)} by --timeout`
    : code !== 0
      ? `: the command failed with exit code ${code}`
      : ''
  return `${verdictText(run)}${ended}${share}${warned}`
}
const isOpen = ({ accepted }: Finding) => !accepted

/** How to inspect the calls. */
function savedLines({ db, sessions }: SuiteRun): string[] {
  if (db !== null) return [line('saved', shellLine(['understudy', 'trace', 'list', '--db', db]))]
  if (!sessions.some(({ findings }) => findings.some(({ traces }) => traces.length > 0))) return []
  return [line('saved', 'no calls; re-run with --db FILE, then: understudy trace show ID --db FILE')]
}

const wentAstray = ({ findings }: Verification) => findings.some(({ kind }) => kind === 'unknown-path')

/** The lines of a report, wrapped to the terminal. A continuation is indented. */
export const fittedReport = (lines: readonly string[], width: number | undefined): string[] =>
  lines.flatMap((text) => {
    const spaces = /^ */.exec(stripVTControlCharacters(text))?.[0].length ?? 0
    return wrapLine(text, width, spaces === 0 ? 0 : spaces + TITLE)
  })

/** The report on one session, as lines. */
export const reportLines = (report: Verification): string[] => [
  ...wrongLines(report, false),
  ...togetherLines([report]),
  ...rightLines(report, false),
]

/** Names the part of a session, if it is not the whole. */
const partLines = (report: RunSession): string[] =>
  report.part === undefined ? [] : [line('session', sessionLabel(report))]

/** One of several sessions: its verdict, and what failed. */
function sessionLines(report: RunSession, strict: boolean): string[] {
  const { calls, verdict } = report
  const head = line('session', `${sessionLabel(report)}: ${verdictText(report)}, ${counted(calls, 'call')}`)
  const right = verdict === 'fail' ? rightLines({ ...report, expectations: [] }, strict) : []
  return [head, ...[...wrongLines(report, strict), ...right].map(indented)]
}

/** Findings, and expectations that are not met. */
const wrongLines = ({ findings, expectations }: Verification, strict: boolean): string[] => [
  ...findings.filter(isOpen).map((finding) => findingLine(finding, strict)),
  ...expectations.filter(({ met }) => !met).map(expectationLine),
]
/** Accepted findings, and expectations that are met. */
const rightLines = ({ findings, expectations }: Verification, strict: boolean): string[] => [
  ...findings.filter(({ accepted }) => accepted).map((finding) => findingLine(finding, strict)),
  ...expectations.filter(({ met }) => met).map(expectationLine),
]
const expectationLine = ({ expected, actual, met }: ExpectationReport) =>
  line('expected', `${expected} ${met ? good('met') : bad(`NOT MET: ${actual}`)}`)

const MAX_TRACES = 3
function findingLine({ kind, severity, message, traces, accepted }: Finding, strict: boolean): string {
  const shown = traces.slice(0, MAX_TRACES).join(', ')
  const more = traces.length > MAX_TRACES ? ` and ${traces.length - MAX_TRACES} more` : ''
  const evidence = traces.length > 0 ? paint('dim', ` (${shown}${more})`) : ''
  const title = accepted ? 'accepted' : severity
  const text = accepted ? kind : severity === 'error' || strict ? bad(kind) : paint('yellow', kind)
  return line(title, `${text}: ${message}${evidence}`)
}

/** All sessions together: exercised recovery paths, and the results of the rules. */
function togetherLines(reports: readonly Verification[]): string[] {
  const paths = countsByName(reports.flatMap((one) => Object.entries(one.recovery_paths)))
  const taken = paths.filter(([, times]) => times > 0)
  const never = paths.filter(([, times]) => times === 0)
  return [
    line('calls', callsText(reports)),
    ...taskLines(reports.map(({ tasks }) => tasks)).map((text) => line('tasks', text)),
    line(
      'exercised',
      taken.map(([path, times]) => `${pathText(path)} (${times})`).join(', ') ||
        `none of ${paths.length} recovery paths`,
    ),
    line('not exercised', never.map(([path]) => pathText(path)).join(', ') || 'none'),
    ...rulesOf(reports).map((rule) => line('rule', ruleText(rule))),
    ...waitLines(reports).map((text) => line('waits', text)),
    ...cancelledLines(reports).map((text) => line('canceled', text)),
    ...notSentTexts(reports.flatMap((one) => one.not_sent)).map((text) => line('not sent', text)),
    ...fixtureLines(reports).map((text) => line('fixtures', text)),
    ...unknownLines(reports).map((text) => line('unknown', text)),
  ]
}

/** The number of calls and attempts, and whether calls went directly to their provider or through the gateway. */
function callsText(reports: readonly Verification[]): string {
  const calls = sumOf(reports, (one) => one.calls)
  const attempts = sumOf(reports, (one) => one.attempts)
  const direct = sumOf(reports, (one) => one.direct)
  const workspace = sumOf(reports, (one) => one.workspace_calls)
  const mixed = `${direct} direct, ${calls - direct} through the gateway`
  const route = direct === 0 ? 'through the gateway' : direct === calls ? 'direct' : mixed
  const parts = [
    ...(calls > 0 ? [`${calls}, ${counted(attempts, 'attempt')}, ${route}`] : []),
    ...(workspace > 0 ? [counted(workspace, 'workspace call')] : []),
  ]
  return parts.join(', ') || bad('none')
}

/** What else is counted of tasks, with its noun. */
const TASK_WORK = { iterations: 'iteration', tool_calls: 'tool call', sub_tasks: 'sub-task' } as const

/** The final states of agent tasks; empty if there were none. */
export function taskLines(counts: readonly TaskCounts[]): string[] {
  const states = [...new Set(counts.flatMap((one) => Object.keys(one.states)))].sort()
  if (states.length === 0) return []
  const ended = states.map((state) => `${state} ${sumOf(counts, (one) => one.states[state] ?? 0)}`)
  const work = Object.entries(TASK_WORK).map(([key, noun]) => {
    const number = sumOf(counts, (one) => one[key as keyof typeof TASK_WORK])
    return counted(number, noun)
  })
  return [`${ended.join(', ')}; ${work.join(', ')}`]
}

/** The rules of all sessions. Each session runs its own, and they are added up by name. */
function rulesOf(reports: readonly Verification[]): RuleReport[] {
  const rules = Map.groupBy(
    reports.flatMap((one) => one.rules),
    ({ scenario, name }) => `${scenario} ${name}`,
  )
  return [...rules.values()].flatMap((same) => {
    const [first] = same
    if (!first) return []
    const skipped = Object.fromEntries(countsByName(same.flatMap((rule) => Object.entries(rule.skipped))))
    const not_triggered = same.every((rule) => rule.not_triggered !== null) ? first.not_triggered : null
    const counts = {
      matched: sumOf(same, (one) => one.matched),
      triggered: sumOf(same, (one) => one.triggered),
      applied: sumOf(same, (one) => one.applied),
    }
    return [{ ...first, ...counts, skipped, not_triggered }]
  })
}

/** A recovery path as people read it: `stream recovery`. */
const pathText = (path: string) => path.replaceAll('_', ' ')

function ruleText({ name, fault, matched, triggered, applied, skipped, not_triggered }: RuleReport): string {
  if (not_triggered !== null) return `${name}: ${bad('not triggered')}: ${not_triggered}`
  const effect = fault === null ? `triggered ${triggered}` : `injected ${applied}`
  const reasons = Object.entries(skipped).map(([reason, times]) => `${reason} ${times}`)
  return [`${name}${fault === null ? '' : ` (${fault})`}: matched ${matched}`, effect, ...reasons].join(', ')
}

function waitLines(reports: readonly Verification[]): string[] {
  const received = sumOf(reports, (one) => one.retry_after.sent)
  if (received === 0) return []
  return [`Retry-After: ${received} received, ${sumOf(reports, (one) => one.retry_after.honored)} honored`]
}

function cancelledLines(reports: readonly Verification[]): string[] {
  const canceled = reports.flatMap((one) => one.canceled)
  if (canceled.length === 0) return []
  const stillRunning = canceled.filter(({ provider_stopped }) => !provider_stopped).length
  return [
    `${counted(canceled.length, 'call')} canceled by the client${stillRunning > 0 ? `, ${stillRunning} already completed` : ''}`,
  ]
}

/** The skipped virtual time, and the idle time of the client. */
function timeLines(clocks: SuiteRun['clocks']): string[] {
  const jumped = sumOf(clocks, (one) => one.jumped_ms)
  const waited = sumOf(clocks, (one) => one.waited_ms)
  return [
    ...(jumped > 0 ? [`virtual time skipped: ${lengthOf(jumped)} (the client did not wait for it)`] : []),
    ...(waited > 0 ? [`client idle time between calls: ${lengthOf(waited)}`] : []),
  ]
}

/** What could not be judged. */
function unknownLines(reports: readonly Verification[]): string[] {
  const pending = sumOf(reports, (one) => one.pending)
  const dropped = sumOf(reports, (one) => one.dropped)
  return [
    ...(pending > 0 ? [`${counted(pending, 'call')} still in progress`] : []),
    ...(dropped > 0
      ? [`the traces of ${counted(dropped, 'call')} were dropped: raise --keep-traces or --keep-trace-bytes`]
      : []),
  ].map(bad)
}

function fixtureLines(reports: readonly Verification[]): string[] {
  const [first, ...others] = reports.map(({ fixtures }) => new Set(fixtures.unused))
  const unused = [...(first ?? [])].filter((name) => others.every((other) => other.has(name)))
  const unmatched = sumOf(reports, ({ fixtures }) => fixtures.unmatched.length)
  return [
    ...(unused.length > 0 ? [`not used: ${unused.join(', ')}`] : []),
    ...(unmatched > 0 ? [`${counted(unmatched, 'call')} matched no fixture`] : []),
  ]
}
