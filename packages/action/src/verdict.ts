// What exec and explore found, as the job summary shows it.
import { printableLine, withoutCommands } from '../../../src/lib/printable.ts'
import { counted } from '../../../src/lib/units.ts'

interface Finding {
  kind: string
  severity: string
  accepted: boolean
  message: string
}
interface SessionVerdict {
  session: string
  calls: number
  attempts: number
  expectations: readonly { expected: string; actual: string; met: boolean }[]
  findings: readonly Finding[]
}
interface SessionCassette {
  session: string
  recorded: { problem: string | null } | null
  replayed: {
    misses: readonly { operation: string; model: string; message: string }[]
    unused: readonly { line: number; operation: string; model: string }[]
  } | null
}
/** What `exec --json` prints of a run. */
export interface ExecRun {
  name: string
  code: number
  verdict: 'pass' | 'fail' | 'inconclusive'
  inconclusive: readonly string[]
  findings: readonly Finding[]
  sessions: readonly SessionVerdict[]
  strict: boolean
  cassettes: { sessions: readonly SessionCassette[] } | null
}
/** What `explore --json` prints. */
export interface ExploreReport {
  verdict: 'pass' | 'fail' | 'inconclusive'
  inconclusive: readonly string[]
  problems: readonly {
    kind: string
    severity: string
    message: string
    calls: readonly string[]
    failure_modes: readonly string[]
    command: string
  }[]
  injection_points: readonly { id: string; label: string }[]
  cases: readonly {
    injection_point: string
    failure_mode: string
    result: string
    derived: boolean
  }[]
}

/** Lines of a list that are still read. */
const MAX_LINES = 50
const MARKS: Readonly<Record<string, string>> = {
  tolerated: '✅',
  'failed-cleanly': '☑️',
  accepted: '☑️',
  'not-applied': '➖',
  swallowed: '⚠️',
  misbehaved: '⚠️',
}
const mark = (verdict: string) => MARKS[verdict] ?? '❌'
/** A text in a line of the log. */
export const logText = (text: string): string => withoutCommands(printableLine(text.replace(/[\n\r\t ]+/g, ' ').trim()))
/** A text inside a table or a list: text, whatever Markdown would make of it (tables, links, formulas, names of people and of emoji). */
const cellText = (text: string) =>
  withoutCommands(
    printableLine(text.replace(/[\n\r\t ]+/g, ' ').trim())
      .replace(/[\\`*_[\]<>|~&$@#%]|:(?=\S)|(?<=\bwww)\./gi, (sign) => `\\${sign}`)
      .replace(/^[-+=]|^\d+(?=[.)])/, (sign) => `\\${sign}`),
  )
/** A command, as code in a line. */
const codeText = (text: string) => `\`${logText(text).replaceAll('`', "'")}\``
const shortened = (lines: readonly string[]) =>
  lines.length <= MAX_LINES ? lines : [...lines.slice(0, MAX_LINES), `- ... and ${lines.length - MAX_LINES} more`]

const verdictCell = ({ code, verdict, inconclusive }: ExecRun): string => {
  if (verdict === 'pass') return '✅ PASS'
  if (verdict === 'inconclusive') return `❔ INCONCLUSIVE: ${cellText(inconclusive.join('; '))}`
  return code === 0 ? '❌ FAIL' : `❌ FAIL: the command failed with exit code ${code}`
}

/** The verdicts of runs as Markdown. */
export function execSummary(command: string, runs: readonly ExecRun[]): string {
  const rows = runs.map((run) => {
    const { name, sessions } = run
    const sum = (of: (session: SessionVerdict) => number) => sessions.reduce((all, one) => all + of(one), 0)
    const figures = [sessions.length, sum(({ calls }) => calls), sum(({ attempts }) => attempts)]
    return `| ${[cellText(name), verdictCell(run), ...figures].join(' | ')} |`
  })
  return [
    `### Understudy: ${codeText(command)}`,
    '',
    '| run | verdict | sessions | calls | attempts |',
    '|---|---|---|---|---|',
    ...rows,
    '',
    ...shortened(runs.flatMap((run) => wrongLines(run, cellText))),
    '',
  ].join('\n')
}

/** What is wrong with a run, a line each. */
export function wrongLines(
  { name, findings, sessions, strict, cassettes }: ExecRun,
  text: (given: string) => string = logText,
): string[] {
  const found = (all: readonly Finding[], where: string) =>
    all
      .filter(({ accepted }) => !accepted)
      .map(({ kind, severity, message }) => `- ${severity} in ${text(where)}: ${text(kind)}: ${text(message)}`)
  return [
    ...found(findings, name),
    ...sessions.flatMap(({ session, expectations, findings: own }) => [
      ...expectations
        .filter(({ met }) => !met)
        .map(({ expected, actual }) => `- in ${text(session)}: expected ${text(expected)}; actual: ${text(actual)}`),
      ...found(own, session),
    ]),
    ...(cassettes?.sessions ?? []).flatMap((one) =>
      cassetteProblems(one, strict).map((problem) => `- cassette of ${text(one.session)}: ${text(problem)}`),
    ),
  ]
}

/** Why a run fails because of a cassette. Unused attempts count if the run was strict. */
const cassetteProblems = ({ recorded, replayed }: SessionCassette, strict: boolean): string[] => [
  ...(recorded?.problem ? [recorded.problem] : []),
  ...(replayed?.misses ?? []).map(({ operation, model, message }) => `miss: ${operation} ${model}: ${message}`),
  ...((strict && replayed?.unused) || []).map(
    ({ line, operation, model }) => `unused: ${operation} ${model} at line ${line}`,
  ),
]

/** The verdict on an exploration in a few words. */
export function exploreVerdict({ verdict, inconclusive, problems }: ExploreReport): string {
  if (verdict === 'inconclusive') return `INCONCLUSIVE: ${inconclusive.join('; ')}`
  const failed = problems.filter(({ severity }) => severity === 'error').length
  return failed > 0 ? `FAIL: ${counted(failed, 'problem')}` : 'no problem'
}

/** The problems of an exploration as Markdown, and its matrix: rows are failure modes, columns calls. */
export function exploreSummary(command: string, report: ExploreReport): string {
  const { problems, injection_points: points, cases } = report
  const tried = points.filter(({ id }) => cases.some((one) => one.injection_point === id))
  const classes = [...new Set(cases.map((one) => one.failure_mode))]
  const signOf = (point: string, name: string) => {
    const cell = cases.find((one) => one.injection_point === point && one.failure_mode === name)
    return cell ? `${mark(cell.result)} ${cell.result}${cell.derived ? ' (derived)' : ''}` : ''
  }
  const verdict = `${cellText(exploreVerdict(report))} in ${counted(cases.length, 'case')}`
  return [
    `### Understudy explore ${codeText(command)}: ${verdict}`,
    '',
    ...shortened(
      problems.map(
        ({ kind, severity, message, calls, failure_modes: modes, command: again }) =>
          `- ${severity === 'error' ? '❌' : '⚠️'} ${[kind, calls.join(', '), `under ${modes.join(', ')}`].map(cellText).join(', ')}: ${cellText(message)} ${codeText(again)}`,
      ),
    ),
    '',
    `| | ${tried.map((_, index) => `p${index + 1}`).join(' | ')} |`,
    `|---|${tried.map(() => '---|').join('')}`,
    ...classes.map((name) => `| ${cellText(name)} | ${tried.map(({ id }) => signOf(id, name)).join(' | ')} |`),
    '',
    ...tried.map(({ id, label }, index) => `- p${index + 1}: ${cellText(label)} (${cellText(id)})`),
    '',
  ].join('\n')
}
