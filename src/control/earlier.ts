// What was judged of a session before somebody took the evidence away: by a reset, a deletion, a snapshot or another scenario.
import type { EarlierVerdict, SessionVerdict } from '../contract/core/verification.ts'
import type { Session } from '../sessions/sessions.ts'

/** What ends a part of a session. */
type PartEnd = EarlierVerdict['ended_by']

/** The verdicts on parts of sessions that are over. */
export interface EarlierVerdicts {
  /** Judges what a session holds and is about to lose; the verdict is kept by calling what is returned, once it has lost it. */
  before(session: Session, why: PartEnd): () => void
  /** Those of a session, oldest first. */
  of(name: string): readonly EarlierVerdict[]
  /** How many verdicts of a session are gone, since there were too many. */
  forgotten(name: string): number
}

/** Verdicts of all sessions together, and sessions of which it is known that some are gone. */
const MAX_KEPT = 1_000
/** What goes first when there are more: what proves least. */
const WORTH = ['inconclusive', 'pass', 'fail']

/** Keeps the verdicts that `judge` gives. */
export function createEarlierVerdicts(judge: (session: Session) => SessionVerdict): EarlierVerdicts {
  const kept: EarlierVerdict[] = []
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
    before(session, why) {
      const verdict = judge(session)
      // A session in which nothing happened has nothing to lose.
      if (verdict.calls === 0 && verdict.workspace_calls === 0) return () => {}
      const { name, clock } = session
      const ended_at = new Date(clock.now()).toISOString()
      return () => {
        const part = (gone.get(name) ?? 0) + of(name).length + 1
        // The list of attempts is long, and its traces are gone.
        kept.push({ ...verdict, order: [], part, ended_by: why, ended_at })
        if (kept.length > MAX_KEPT) forgetOne()
      }
    },
    of,
    forgotten: (name) => gone.get(name) ?? 0,
  }
}
