// Finds the number of a call by the id of its trace. An index of the database would cost every call a page of the write-ahead log:
// instead the ids are read once, when somebody asks for one, and then kept.
import { once } from '../lib/once.ts'
import type { Database } from './open.ts'

/** Numbers of calls by the ids of their traces. */
export interface TraceNumbers {
  /** Notes the id of a row that is written. */
  add(seq: number, id: string): void
  /** The number of a call that is shown. */
  find(id: string): number | undefined
  /** Forgets the ids of rows that were removed: those before a number. */
  forget(first: number): void
}

/** The numbers of a database's traces. */
export function traceNumbers(connection: Database): TraceNumbers {
  const shown = once(() => connection.prepare('SELECT id FROM traces WHERE seq = ?').pluck())
  let numbers: Map<unknown, number> | undefined
  const load = () =>
    new Map(connection.prepare('SELECT id, seq FROM trace_rows ORDER BY seq').raw().all() as [unknown, number][])
  return {
    add: (seq, id) => numbers?.set(id, seq),
    find(id) {
      numbers ??= load()
      const seq = numbers.get(id)
      // Its row may be hidden, or its transaction undone.
      return seq !== undefined && shown().get(seq) === id ? seq : undefined
    },
    forget(first) {
      // Calls end about in the order in which they began; what is behind a newer one goes the next time.
      for (const [id, seq] of numbers ?? []) {
        if (seq >= first) break
        numbers?.delete(id)
      }
    },
  }
}
