// Calls of the workspace API for verdicts: they have no traces. Only failed ones and their successors are stored, so
// that a working program costs nothing. In memory: calls of an earlier process are unknown.
import type { WorkspaceCallNote } from '../contract/core/finding.ts'
import type { Session } from '../sessions/session.ts'

/** How a call ended; computed only if it is stored. */
type WorkspaceCallEnd = Pick<WorkspaceCallNote, 'outcome'> & {
  /** Method and path, without the query. */
  place: string
  note(): Omit<WorkspaceCallNote, 'number' | 'until' | 'outcome'>
}

/** The workspace calls of all sessions. */
export type WorkspaceCalls = ReturnType<typeof createWorkspaceCalls>

/** Maximum number of calls of a session; those that failed first are kept. */
const MAX_CALLS = 5_000

interface Kept {
  count: number
  calls: WorkspaceCallNote[]
  failing: Set<string>
}

/** An empty list of calls. */
export function createWorkspaceCalls() {
  const generations = new WeakMap<Session, Kept>()
  const underWay = new Map<string, number>()
  let begun = 0
  return {
    /** A call has arrived in the session of a name. End it in the generation that handled it. */
    begin(name: string) {
      const number = ++begun
      underWay.set(name, (underWay.get(name) ?? 0) + 1)
      return {
        end(session: Session, { outcome, place, note }: WorkspaceCallEnd): void {
          const remaining = (underWay.get(name) ?? 1) - 1
          if (remaining > 0) underWay.set(name, remaining)
          else underWay.delete(name)
          const kept = generations.getOrInsertComputed(session, () => ({ count: 0, calls: [], failing: new Set() }))
          kept.count++
          if (outcome !== 'succeeded' && kept.failing.size < MAX_CALLS) kept.failing.add(place)
          if (kept.calls.length < MAX_CALLS && kept.failing.has(place))
            kept.calls.push({ number, until: begun, outcome, ...note() })
        },
      }
    },
    /** Those of a session since its scenario started: failed ones, and later ones of the same paths, in order of arrival. */
    of(session: Session) {
      const { count = 0, calls = [] } = generations.get(session) ?? {}
      const ordered: readonly WorkspaceCallNote[] = calls.toSorted((one, other) => one.number - other.number)
      return { count, underWay: underWay.get(session.name) ?? 0, calls: ordered }
    },
  }
}
