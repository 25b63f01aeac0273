// How many traces were removed to make room since the start, over all sessions: those too that are gone, whose own counts went with them.
import type { Session, Sessions } from '../sessions/sessions.ts'

/** Counts traces that were removed to make room. */
interface DroppedTraces {
  /** Since the start; it never goes back. */
  total(): number
  /** Counts what a session has dropped that is about to lose its count; what is returned is to be called once it has. */
  before(session: Session): () => void
}

/** A count over the sessions that there are and those that were. */
export function createDroppedTraces(sessions: Pick<Sessions, 'overAll' | 'known'>): DroppedTraces {
  /** The count of each session when it was last read. */
  const read = new Map<string, number>()
  let total = 0
  const note = (name: string, count: number) => {
    const before = read.get(name) ?? 0
    // A write that failed takes back what it had counted; it is counted again when it succeeds.
    total += Math.max(0, count - before)
    read.set(name, Math.max(before, count))
  }
  const droppedBy = (session: Session) => session.counts().traces.dropped
  return {
    total() {
      sessions.overAll((list) => list.map((session) => note(session.name, droppedBy(session))))
      return total
    },
    before(session) {
      const { name } = session
      note(name, droppedBy(session))
      return () => {
        const next = sessions.known(name)
        // A reset begins at 0, and whatever has kept its count goes on from there.
        if (next) read.set(name, droppedBy(next))
        else read.delete(name)
      }
    },
  }
}
