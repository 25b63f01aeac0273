// Counts the traces that were dropped for lack of room since the start, over all sessions, including removed ones,
// whose own counts are lost.
import type { Session, Sessions } from '../sessions/sessions.ts'

/** A count over the current and the removed sessions. */
export function createDroppedTraces(sessions: Pick<Sessions, 'overAll' | 'known'>) {
  /** The last count of each session. */
  const read = new Map<string, number>()
  let total = 0
  const note = (name: string, count: number) => {
    const before = read.get(name) ?? 0
    // A failed write reverts its count, which is added again when it succeeds.
    total += Math.max(0, count - before)
    read.set(name, Math.max(before, count))
  }
  const droppedBy = (session: Session) => session.counts().traces.dropped
  return {
    /** Since the start; it never decreases. */
    total(): number {
      sessions.overAll((list) => list.map((session) => note(session.name, droppedBy(session))))
      return total
    },
    /** Counts what a session has dropped, before its own count is lost. Call the returned function afterwards. */
    before(session: Session): () => void {
      const { name } = session
      note(name, droppedBy(session))
      return () => {
        const next = sessions.known(name)
        // A reset starts at 0; a kept count continues.
        if (next) read.set(name, droppedBy(next))
        else read.delete(name)
      }
    },
  }
}
