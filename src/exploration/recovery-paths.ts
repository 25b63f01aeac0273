// Recovery paths that calls configure, and how often each was exercised: one that was never exercised is untested.
import type { TraceRecord } from '../contract/core/trace.ts'
import type { Settings } from '../gateway/settings.ts'

/** Counts of recovery paths by name: `chat.completions openai/gpt-4o: fallback 1 anthropic/claude-sonnet-4`. */
export type RecoveryPathCounts = Record<string, number>

/** Adds the recovery paths that a call configures, and those that it exercised. `operation` is its name in the client's API. */
export function addRecoveryPaths(
  counts: RecoveryPathCounts,
  { plan, attempts, cache, outcome }: TraceRecord,
  { operation, settings }: { operation: string; settings: Settings },
): void {
  const add = (path: string, taken: boolean) => {
    const name = `${operation} ${plan[0] ?? ''}: ${path}`
    counts[name] = (counts[name] ?? 0) + (taken ? 1 : 0)
  }
  const isRetried = attempts.some(({ reason }) => reason === 'retry')
  const isTimedOut = attempts.some((one) => one.outcome === 'timed_out')
  const isRecovered = outcome === 'succeeded' && attempts.some((one) => one.outcome !== 'succeeded')
  const positions = new Set(attempts.map(({ position }) => position))
  if (settings.retry) add('retry', isRetried)
  for (const [index, model] of plan.slice(1).entries()) add(`fallback ${index + 1} ${model}`, positions.has(index + 1))
  if (settings.callTimeout !== undefined) add('timeout', isTimedOut)
  if (settings.cacheTtl !== undefined) add('cache', cache?.status === 'hit')
  if (settings.retry || plan.length > 1) add('recovery', isRecovered)
}

/** The sum of the counts of several runs. */
export function mergeRecoveryPaths(all: readonly RecoveryPathCounts[]): RecoveryPathCounts {
  const sum: RecoveryPathCounts = {}
  for (const counts of all) for (const [path, taken] of Object.entries(counts)) sum[path] = (sum[path] ?? 0) + taken
  return Object.fromEntries(Object.entries(sum).sort(([one], [other]) => (one < other ? -1 : 1)))
}
