// Finds the number of a call by the id of its trace. A database index would cost every call a page of the write-ahead
// log. Instead the ids are read on first use, and then cached.
import { once } from '../lib/once.ts'
import type { Database } from './open.ts'

/** The numbers of a database's traces. */
export function traceNumbers(connection: Database) {
  const shown = once(() => connection.prepare('SELECT id FROM traces WHERE seq = ?').pluck())
  let numbers: Map<unknown, number> | undefined
  const load = () =>
    new Map(connection.prepare('SELECT id, seq FROM trace_rows ORDER BY seq').raw().all() as [unknown, number][])
  return {
    /** Adds the id of a written row. */
    add: (seq: number, id: string): void => void numbers?.set(id, seq),
    /** The number of a visible call. */
    find(id: string): number | undefined {
      numbers ??= load()
      const seq = numbers.get(id)
      // Its row may be hidden, or its transaction rolled back.
      return seq !== undefined && shown().get(seq) === id ? seq : undefined
    },
    /** Removes the ids of removed rows: those before a number. */
    forget(first: number): void {
      // Calls end roughly in the order in which they started; one behind a newer call is removed the next time.
      for (const [id, seq] of numbers ?? []) {
        if (seq >= first) break
        numbers?.delete(id)
      }
    },
  }
}
/** Numbers of calls by the ids of their traces. */
export type TraceNumbers = ReturnType<typeof traceNumbers>
