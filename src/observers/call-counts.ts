// Counts of calls since the start, for metrics. Adding a call is cheap, so they are always counted.
import type { CallCounts, CountedObservation, CountFamily } from '../contract/core/observation.ts'
import type { AttemptRecord } from '../contract/core/trace.ts'
import { newFindings } from './new-findings.ts'

/** Maximum number of series of a family: rules and scenarios may have any names. */
const MAX_SERIES = 500
const OTHER = 'other'
/** Upper bounds in seconds. */
const BOUNDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120]

/** Series by the values of their labels, one after another: a joined key would have to be built for every call. */
function seriesOf<Value extends object>(labels: number, make: () => Value) {
  type Branch = Map<string, Branch | Value>
  const root: Branch = new Map()
  const series: { labels: readonly string[]; value: Value }[] = []
  const add = (values: readonly string[]): Value => {
    if (series.length >= MAX_SERIES && values[0] !== OTHER) return find(Array.from({ length: labels }, () => OTHER))
    let branch = root
    for (const value of values.slice(0, -1)) branch = branch.getOrInsertComputed(value, () => new Map()) as Branch
    const made = make()
    branch.set(values.at(-1) ?? '', made)
    series.push({ labels: values, value: made })
    return made
  }
  const find = (values: readonly string[]): Value => {
    let found: Branch | Value | undefined = root
    for (const value of values) {
      found = (found as Branch).get(value)
      if (!found) return add(values)
    }
    return found as Value
  }
  return { find, all: (): typeof series => series }
}

function counter(name: string, help: string, labels: readonly string[]) {
  const series = seriesOf(labels.length, () => ({ count: 0 }))
  return {
    add: (...values: string[]) => void series.find(values).count++,
    family: (): CountFamily => ({
      ...{ name, help, type: 'counter' },
      samples: series.all().map((one) => ({ labels: named(labels, one.labels), value: one.value.count })),
    }),
  }
}

function histogram(name: string, help: string, labels: readonly string[]) {
  const series = seriesOf(labels.length, () => ({ buckets: BOUNDS.map(() => 0), sum: 0, count: 0 }))
  return {
    add(ms: number, ...values: string[]) {
      const found = series.find(values)
      const seconds = ms / 1_000
      found.sum += seconds
      found.count++
      let at = 0
      while (seconds > (BOUNDS[at] ?? Number.POSITIVE_INFINITY)) at++
      if (at < BOUNDS.length) found.buckets[at] = (found.buckets[at] ?? 0) + 1
    },
    family: (): CountFamily => ({
      ...{ name, help, type: 'histogram' },
      samples: series.all().flatMap(({ labels: values, value: { buckets, sum, count } }) => {
        const of = named(labels, values)
        let below = 0
        const bucket = (le: string, value: number) => ({ suffix: '_bucket', labels: { ...of, le }, value })
        const bounded = BOUNDS.map((bound, index) => bucket(String(bound), (below += buckets[index] ?? 0)))
        const ends = [
          { suffix: '_sum', labels: of, value: sum },
          { suffix: '_count', labels: of, value: count },
        ]
        return [...bounded, bucket('+Inf', count), ...ends]
      }),
    }),
  }
}

const named = (names: readonly string[], values: readonly string[]): Record<string, string> =>
  Object.fromEntries(names.map((name, index) => [name, values[index] ?? '']))

const providerOf = (target: string) => target.slice(0, Math.max(0, target.indexOf('/')))

type CountedCall = Extract<CountedObservation, { type: 'trace-saved' }>
type CountedVerdict = Extract<CountedObservation, { type: 'session-verified' }>

/** A new set of counts. */
export function createCallCounts(): CallCounts {
  const ofCalls = ['operation', 'outcome', 'status', 'origin']
  const calls = counter('understudy_calls_total', 'Finished calls, of clients and internal ones.', ofCalls)
  const attempts = counter('understudy_attempts_total', 'Attempts at a target.', ['provider', 'outcome', 'reason'])
  const faults = counter('understudy_faults_total', 'Injected faults by scenario rule.', ['scenario', 'rule'])
  const ofFindings = ['kind', 'severity', 'accepted']
  const findings = counter('understudy_findings_total', 'Findings of verdicts, each counted once.', ofFindings)
  const ofCall = (name: string, help: string) => histogram(name, help, ['operation'])
  const durations = ofCall('understudy_call_duration_seconds', "How long calls took, by their session's clock.")
  const firsts = ofCall('understudy_first_content_seconds', 'Time to the first content of a stream.')
  const durationHelp = "How long tries took, by their session's clock."
  const tries = histogram('understudy_attempt_duration_seconds', durationHelp, ['provider'])
  const fresh = newFindings()
  const addAttempt = ({ target, outcome, reason, duration_ms }: AttemptRecord) => {
    const provider = providerOf(target)
    attempts.add(provider, outcome, reason)
    tries.add(duration_ms, provider)
  }
  const addCall = ({ trace }: CountedCall) => {
    const { operation, outcome, status, internal: inner, duration_ms, scenario, stream } = trace
    calls.add(operation, outcome, String(status), inner ? 'inside' : 'client')
    durations.add(duration_ms, operation)
    for (const attempt of trace.attempts) addAttempt(attempt)
    const last = trace.attempts.at(-1)
    if (stream && last?.first_content_ms != null) firsts.add(last.first_content_ms, operation)
    for (const rule of trace.faults) faults.add(scenario ?? '', rule)
    for (const { faults: rules } of trace.attempts) for (const rule of rules) faults.add(scenario ?? '', rule)
  }
  const addVerdict = ({ session, findings: found }: CountedVerdict) => {
    for (const { kind, severity, accepted } of fresh(session, found)) findings.add(kind, severity, String(accepted))
  }
  return {
    add: (observation) => (observation.type === 'trace-saved' ? addCall(observation) : addVerdict(observation)),
    families: () => [calls, attempts, faults, findings, durations, firsts, tries].map((one) => one.family()),
  }
}
