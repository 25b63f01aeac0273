// Verdicts are asked for again and again: which of their findings are new?
import type { Finding } from '../contract/core/finding.ts'

/** So many findings are remembered; nobody finds more. */
const MAX_SEEN = 10_000

/** A function that gives the findings of a session that it was not asked about before. */
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
