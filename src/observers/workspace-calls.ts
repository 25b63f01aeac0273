// Calls of the workspace API, for a judge: they leave no traces. Only those that failed are kept, and what was called behind them,
// so that a program that works costs nothing. In memory: nobody knows of those of an earlier process.
import type { WorkspaceCallNote } from '../contract/core/finding.ts'
import type { Session } from '../sessions/session.ts'

/** What is known of the workspace calls of a session since its scenario began. */
export interface WorkspaceCallList {
  count: number
  /** How many are under way in the session of that name. */
  underWay: number
  /** Those that failed, and later ones of the same paths, in the order in which they came. */
  calls: readonly WorkspaceCallNote[]
}

/** How a call ended: what is worked out only where it is kept. */
export type WorkspaceCallEnd = Pick<WorkspaceCallNote, 'outcome'> & {
  /** Method and path, without the query. */
  place: string
  note(): Omit<WorkspaceCallNote, 'number' | 'until' | 'outcome'>
}

/** Knows the workspace calls of all sessions. */
export interface WorkspaceCalls {
  /** A call has come in the session of a name; to be ended in the generation that it was answered in. */
  begin(name: string): { end(session: Session, end: WorkspaceCallEnd): void }
  of(session: Session): WorkspaceCallList
}

/** Of a session in which more fail, those that failed first are kept. */
const MAX_CALLS = 5_000

interface Kept {
  count: number
  calls: WorkspaceCallNote[]
  failing: Set<string>
}

/** Knows of no calls yet. */
export function createWorkspaceCalls(): WorkspaceCalls {
  const generations = new WeakMap<Session, Kept>()
  const underWay = new Map<string, number>()
  let begun = 0
  return {
    begin(name) {
      const number = ++begun
      underWay.set(name, (underWay.get(name) ?? 0) + 1)
      return {
        end(session, { outcome, place, note }) {
          const left = (underWay.get(name) ?? 1) - 1
          if (left > 0) underWay.set(name, left)
          else underWay.delete(name)
          const kept = generations.get(session) ?? { count: 0, calls: [], failing: new Set() }
          generations.set(session, kept)
          kept.count++
          if (outcome !== 'succeeded' && kept.failing.size < MAX_CALLS) kept.failing.add(place)
          if (kept.calls.length < MAX_CALLS && kept.failing.has(place))
            kept.calls.push({ number, until: begun, outcome, ...note() })
        },
      }
    },
    of(session) {
      const { count = 0, calls = [] } = generations.get(session) ?? {}
      const ordered = calls.toSorted((one, other) => one.number - other.number)
      return { count, underWay: underWay.get(session.name) ?? 0, calls: ordered }
    },
  }
}
