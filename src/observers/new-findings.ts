// Finds the new findings of repeated verdicts.
import type { Finding } from '../contract/core/finding.ts'

/** Maximum number of remembered findings. */
const MAX_SEEN = 10_000

/** A function that returns the findings of a session that were not passed to it before. */
export function newFindings(): (session: string, findings: readonly Finding[]) => Finding[] {
  const seen = new Set<string>()
  return (session, findings) =>
    findings.filter(({ kind, traces: [first], at }) => {
      const key = `${session} ${kind} ${first ?? at}`
      if (seen.has(key)) return false
      if (seen.size >= MAX_SEEN) seen.clear()
      seen.add(key)
      return true
    })
}
