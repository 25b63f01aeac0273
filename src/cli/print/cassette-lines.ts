// What was recorded and replayed, as lines of a report.

import { renewalCommand } from '../../cassettes/names.ts'
import { adviceOn, fieldDifferenceText } from '../../cassettes/nearest.ts'
import type { CassetteReport, SessionCassette } from '../../contract/core/cassette-report.ts'
import { counted } from '../../lib/units.ts'
import { sumOf } from '../../lib/values.ts'
import { paint } from './output.ts'

type Replayed = NonNullable<SessionCassette['replayed']>
type Line = [title: string, text: string]

const bad = (text: string) => paint('red', text)
const warning = (text: string) => paint('yellow', text)
/** Misses and differences that are printed of a session, and cassettes that were not completed, or not used. */
const MAX_PRINTED = 5
/** Unused interactions that are printed of a session. */
const MAX_UNUSED = 10

/**
 * Why a run fails because of the cassette of a session: it stays incomplete, such as on a full disk, or it had no response to a request.
 * @param strict whether recorded attempts that no request has used count, too
 */
export function cassetteProblems(session: SessionCassette, strict: boolean): string[] {
  const { recorded, replayed } = session
  const { missed = 0, misses = [] } = replayed ?? {}
  const shown = misses.slice(0, MAX_PRINTED).map(({ operation, model, message, nearest }) => {
    const differences = (nearest?.differences ?? []).slice(0, MAX_PRINTED).map(fieldDifferenceText)
    return [`miss: ${operation} ${model}: ${message}`, ...differences].join('; ')
  })
  return [
    ...(recorded?.problem ? [recorded.problem] : []),
    ...shown,
    ...(missed > shown.length ? [`${missed - shown.length} more misses`] : []),
    ...(replayed && strict ? unusedTexts({ ...session, replayed }).map((text) => `unused: ${text}`) : []),
  ]
}

/** The report, as pairs of a title and a text. */
export function cassetteLines(report: CassetteReport): Line[] {
  const { sessions } = report
  const replayed = sessions.flatMap((one) => (one.replayed ? [{ ...one, replayed: one.replayed }] : []))
  const parts = replayed.map((one) => one.replayed)
  return [
    ...recordedLines(report),
    ...(parts.length > 0 ? [replayedLine(parts, report.graded)] : []),
    ...replayed.flatMap((one) => missLines(one, report.folder ?? '')),
    ...replayed.flatMap(unusedTexts).map((text): Line => ['unused', text]),
    ...unusedCassettesLines(report),
    ...countsByName(parts.flatMap((one) => Object.entries(one.volatile))).map(
      ([name, count]): Line => [
        'volatile',
        count > 0
          ? `${name}: applied ${counted(count, 'time')}`
          : warning(`${name}: matched no request; check its path and pattern`),
      ],
    ),
    ...redactionLines(report),
  ]
}

/** The sums of counts by their names. */
export const countsByName = (counts: readonly [name: string, count: number][]): [name: string, count: number][] =>
  [...Map.groupBy(counts, ([name]) => name)].map(([name, same]) => [name, sumOf(same, ([, count]) => count)])

function recordedLines({ folder, sessions }: CassetteReport): Line[] {
  const parts = sessions.flatMap(({ recorded }) => recorded ?? [])
  if (parts.length === 0) return []
  const total = (key: 'interactions' | 'attempts' | 'omitted') => sumOf(parts, (one) => one[key])
  const omitted = total('omitted')
  const problems = parts.flatMap(({ problem }) => problem ?? [])
  const texts = [
    `${counted(total('interactions'), 'interaction')}, ${counted(total('attempts'), 'attempt')}, ${counted(parts.length, 'cassette')} in ${folder}`,
    ...(omitted > 0 ? [`${omitted} bytes of large responses are not in the cassettes (--max-recorded)`] : []),
    ...problems.slice(0, MAX_PRINTED).map(bad),
    ...(problems.length > MAX_PRINTED ? [bad(`the same for ${problems.length - MAX_PRINTED} more cassettes`)] : []),
  ]
  return texts.map((text) => ['recorded', text])
}

function replayedLine(parts: readonly Replayed[], graded: boolean): Line {
  const weak = countsByName(parts.flatMap((one) => Object.entries(one.weak)))
  const attempts = sumOf(parts, (one) => one.attempts)
  const forwarded = sumOf(parts, (one) => one.forwarded)
  const missed = sumOf(parts, (one) => one.missed)
  return [
    'replayed',
    [
      counted(attempts, 'attempt'),
      missed > 0 ? bad(missed === 1 ? '1 miss' : `${missed} misses`) : 'no misses',
      ...(forwarded > 0 ? [`${forwarded} forwarded`] : []),
      ...weak.map(([kind, count]) => `${count} by --allow ${kind}`),
      ...(graded ? [warning('graded: some requests matched only by --allow')] : []),
    ].join(', '),
  ]
}

function missLines(
  { session, cassette, file, replayed }: SessionCassette & { replayed: Replayed },
  folder: string,
): Line[] {
  const { misses, missed } = replayed
  const lines = misses.slice(0, MAX_PRINTED).flatMap(({ operation, model, message, nearest }): Line[] => {
    const differences = (nearest?.differences ?? []).slice(0, MAX_PRINTED)
    return [
      ['miss', `${bad(`${operation} ${model}`)} in session ${session}: ${message}`],
      ...(nearest ? [`nearest: ${file}:${nearest.line}`] : []).map((text): Line => ['', text]),
      ...differences.map((difference): Line => ['', fieldDifferenceText(difference)]),
    ]
  })
  const more = missed - Math.min(misses.length, MAX_PRINTED)
  const command = renewalCommand(folder, cassette)
  const advice = misses.map(({ reason }) => adviceOn(reason, command)).find((one) => one !== undefined)
  return [
    ...lines,
    ...(more > 0 ? [['miss', `${more} more in session ${session}`] satisfies Line] : []),
    ...(advice === undefined ? [] : [['', advice] satisfies Line]),
  ]
}

function unusedTexts({ file, replayed }: SessionCassette & { replayed: Replayed }): string[] {
  const more = replayed.unused.length - MAX_UNUSED
  const texts = replayed.unused.slice(0, MAX_UNUSED).map(({ line, operation, model, turn, attempts, unused }) => {
    const what = unused === attempts ? 'interaction' : `${unused} of ${counted(attempts, 'attempt')}`
    return `${what} at ${file}:${line} (${operation} ${model}, turn ${turn})`
  })
  return more > 0 ? [...texts, `${more} more in ${file}`] : texts
}

/** A run of a part of the tests uses a part of the cassettes, so this is no warning. */
function unusedCassettesLines({ folder, unused_cassettes: files }: CassetteReport): Line[] {
  if (files.length === 0) return []
  const more = files.length - MAX_PRINTED
  const shown = `${files.slice(0, MAX_PRINTED).join(', ')}${more > 0 ? ` and ${more} more` : ''}`
  const were = files.length === 1 ? 'was' : 'were'
  return [['unused', `${counted(files.length, 'cassette')} in ${folder} ${were} not used by any session: ${shown}`]]
}

function redactionLines({ sessions, unmatched_paths }: CassetteReport): Line[] {
  const redacted = sessions.flatMap((one) => one.redacted)
  const replaced = countsByName(redacted.map(({ rule, count }) => [rule, count]))
  return [
    ...(replaced.length > 0 ? [replaced.map((one) => one.join(' ')).join(', ')] : []).map(
      (text): Line => ['redacted', text],
    ),
    ...unmatched_paths.map(
      (path): Line => ['redacted', warning(`'${path}' replaced nothing; check the path in 'redact'`)],
    ),
    ...sessions.flatMap((one) => one.not_compared).map((text): Line => ['not compared', text]),
  ]
}
