// What was recorded and replayed, as lines of a report.

import { fieldDifferenceText } from '../../cassettes/nearest.ts'
import type { CassetteReport, SessionCassette } from '../../contract/core/cassette-report.ts'
import { counted } from '../../lib/units.ts'
import { paint } from './output.ts'

type Replayed = NonNullable<SessionCassette['replayed']>

const bad = (text: string) => paint('red', text)
const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0)
/** Misses and differences that are printed of a session. */
const MAX_PRINTED = 5
/** Unused interactions that are printed of a session. */
const MAX_UNUSED = 10

/** Whether a replay had misses. */
export const hasMisses = ({ sessions }: CassetteReport): boolean =>
  sessions.some(({ replayed }) => (replayed?.missed ?? 0) > 0)

/** Whether recorded attempts were left that no request has used. */
export const hasUnused = ({ sessions }: CassetteReport): boolean =>
  sessions.some(({ replayed }) => (replayed?.unused.length ?? 0) > 0)

/** The report, as pairs of a title and a text. */
export function cassetteLines(report: CassetteReport): [title: string, text: string][] {
  const { sessions } = report
  const recorded = sessions.filter((one) => one.recorded !== null)
  const replayed = sessions.flatMap((one) => (one.replayed ? [{ ...one, replayed: one.replayed }] : []))
  return [
    ...recordedLines(report.folder, recorded),
    ...(replayed.length > 0
      ? [
          replayedLine(
            replayed.map((one) => one.replayed),
            report.graded,
          ),
        ]
      : []),
    ...replayed.flatMap(missLines),
    ...replayed.flatMap(unusedLines),
    ...ruleLines(replayed.map((one) => one.replayed)),
    ...redactionLines(sessions),
  ]
}

function recordedLines(folder: string | null, sessions: readonly SessionCassette[]): [string, string][] {
  if (sessions.length === 0) return []
  const parts = sessions.flatMap(({ recorded }) => recorded ?? [])
  const interactions = counted(sum(parts.map((one) => one.interactions)), 'interaction')
  const attempts = counted(sum(parts.map((one) => one.attempts)), 'attempt')
  const omitted = sum(parts.map((one) => one.omitted))
  return [
    ['recorded', `${interactions}, ${attempts}, ${counted(sessions.length, 'cassette')} in ${folder}`],
    ...(omitted > 0
      ? [
          ['recorded', `${omitted} bytes of large responses are not in the cassettes (--max-recorded)`] as [
            string,
            string,
          ],
        ]
      : []),
    ...sessions.flatMap(({ recorded }): [string, string][] =>
      recorded?.problem ? [['recorded', bad(recorded.problem)]] : [],
    ),
  ]
}

function replayedLine(parts: readonly Replayed[], graded: boolean): [string, string] {
  const weak = parts.flatMap((one) => Object.entries(one.weak))
  const kinds = [...Map.groupBy(weak, ([kind]) => kind)].map(
    ([kind, all]) => `${sum(all.map(([, count]) => count))} by --allow ${kind}`,
  )
  const forwarded = sum(parts.map((one) => one.forwarded))
  const missed = sum(parts.map((one) => one.missed))
  return [
    'replayed',
    [
      counted(sum(parts.map((one) => one.attempts)), 'attempt'),
      missed > 0 ? bad(missed === 1 ? '1 miss' : `${missed} misses`) : 'no misses',
      ...(forwarded > 0 ? [`${forwarded} forwarded`] : []),
      ...kinds,
      ...(graded ? [paint('yellow', 'graded: some requests matched only by --allow')] : []),
    ].join(', '),
  ]
}

function missLines({ session, file, replayed }: SessionCassette & { replayed: Replayed }): [string, string][] {
  const { misses, missed } = replayed
  const lines = misses
    .slice(0, MAX_PRINTED)
    .flatMap(({ operation, model, message, nearest }): [string, string][] => [
      ['miss', `${bad(`${operation} ${model}`)} in session ${session}: ${message}`],
      ...(nearest
        ? [
            ['', `nearest: ${file}:${nearest.line}`] as [string, string],
            ...nearest.differences
              .slice(0, MAX_PRINTED)
              .map((difference): [string, string] => ['', fieldDifferenceText(difference)]),
          ]
        : []),
    ])
  const more = missed - Math.min(misses.length, MAX_PRINTED)
  return more > 0 ? [...lines, ['miss', `${more} more in session ${session}`]] : lines
}

const unusedLines = ({ file, replayed }: SessionCassette & { replayed: Replayed }): [string, string][] => {
  const more = replayed.unused.length - MAX_UNUSED
  const lines = replayed.unused
    .slice(0, MAX_UNUSED)
    .map(({ line, operation, model, turn, attempts, unused }): [string, string] => [
      'unused',
      `${unused === attempts ? 'interaction' : `${unused} of ${counted(attempts, 'attempt')}`} at ${file}:${line} (${operation} ${model}, turn ${turn})`,
    ])
  return more > 0 ? [...lines, ['unused', `${more} more in ${file}`]] : lines
}

function ruleLines(parts: readonly Replayed[]): [string, string][] {
  const rules = Map.groupBy(
    parts.flatMap((one) => Object.entries(one.volatile)),
    ([name]) => name,
  )
  return [...rules].map(([name, all]) => [
    'volatile',
    `${name}: applied ${counted(sum(all.map(([, count]) => count)), 'time')}`,
  ])
}

function redactionLines(sessions: readonly SessionCassette[]): [string, string][] {
  const rules = Map.groupBy(
    sessions.flatMap((one) => one.redacted),
    ({ rule }) => rule,
  )
  const replaced = [...rules].map(([rule, all]) => `${rule} ${sum(all.map(({ count }) => count))}`)
  const requests = sessions.flatMap((one) => one.not_compared)
  return [
    ...(replaced.length > 0 ? [['redacted', replaced.join(', ')] as [string, string]] : []),
    ...requests.map((text): [string, string] => ['not compared', text]),
  ]
}
