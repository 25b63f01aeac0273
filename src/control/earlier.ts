// Verdicts on a session before its evidence was removed by a reset, a deletion, a snapshot or another scenario.
import type { EarlierVerdict, SessionVerdict } from '../contract/core/verification.ts'
import type { Session } from '../sessions/sessions.ts'

/** The verdicts on earlier parts of sessions. */
export type EarlierVerdicts = ReturnType<typeof createEarlierVerdicts>

/** Maximum number of verdicts of all sessions, and of sessions with dropped ones. */
const MAX_KEPT = 1_000
/** The order in which they are dropped: those that prove least first. */
const WORTH = ['inconclusive', 'pass', 'fail']

/** A verdict as text: a thousand of them would be a hundred thousand values between those of later calls. */
interface StoredVerdict extends Pick<EarlierVerdict, 'session' | 'verdict'> {
  json: string
}

/** Stores the verdicts of `judge`. */
export function createEarlierVerdicts(judge: (session: Session) => SessionVerdict) {
  const kept: StoredVerdict[] = []
  const gone = new Map<string, number>()
  const of = (name: string) => kept.filter(({ session }) => session === name)
  const forgetOne = () => {
    const least = Math.min(...kept.map(({ verdict }) => WORTH.indexOf(verdict)))
    const index = kept.findIndex(({ verdict }) => WORTH.indexOf(verdict) === least)
    const [{ session = '' } = {}] = kept.splice(index, 1)
    gone.set(session, (gone.get(session) ?? 0) + 1)
    const [oldest] = gone.size > MAX_KEPT ? gone.keys() : []
    if (oldest !== undefined) gone.delete(oldest)
  }
  return {
    /** Judges what a session is about to lose. Call the returned function afterwards: it stores the verdict. */
    before(session: Session, why: EarlierVerdict['ended_by']): () => void {
      const verdict = judge(session)
      // A session in which nothing happened has nothing to lose.
      if (verdict.calls === 0 && verdict.workspace_calls === 0) return () => {}
      const { name, clock } = session
      const ended_at = new Date(clock.now()).toISOString()
      return () => {
        const part = (gone.get(name) ?? 0) + of(name).length + 1
        // The list of attempts is long, and its traces are gone.
        const earlier: EarlierVerdict = { ...verdict, order: [], part, ended_by: why, ended_at }
        kept.push({ session: name, verdict: verdict.verdict, json: JSON.stringify(earlier) })
        if (kept.length > MAX_KEPT) forgetOne()
      }
    },
    /** Those of a session, oldest first. */
    of: (name: string): readonly EarlierVerdict[] => of(name).map(({ json }) => JSON.parse(json) as EarlierVerdict),
    /** Number of verdicts of a session that were dropped because there were too many. */
    forgotten: (name: string) => gone.get(name) ?? 0,
  }
}
