// A database file that keeps the calls of a finished run, of all its sessions, for trace to read.
import type { TraceRecord } from '../contract/trace.ts'
import { DatabaseError, openFile } from './open.ts'
import type { TraceStore } from './trace-store.ts'
import { traceStore } from './trace-store.ts'
import { createWriter } from './writer.ts'

/** A file to keep a run in. */
export interface RunFile {
  /** Keeps the calls of these sessions, in the order in which they came. */
  keep(sessions: readonly TraceStore[]): Promise<void>
  close(): void
}

/** What says that a file holds a kept run and nothing else. */
const MARK = 'run'

/** Opens a file for a run, whose calls take the place of those of an earlier one; throws `DatabaseError` when it holds anything else. */
export function openRunFile(file: string): RunFile {
  const { database, release } = openFile(file)
  const number = (sql: string) => Number(database.prepare(sql).pluck().get())
  const isRun = number(`SELECT count(*) FROM kept WHERE kind = '${MARK}'`) > 0
  const rows = number('SELECT (SELECT count(*) FROM trace_rows) + (SELECT count(*) FROM records)')
  if (rows > 0 && !isRun) {
    database.close()
    release()
    throw new DatabaseError(
      `database ${file} is that of a server, which a run would replace: name another file with --db`,
    )
  }
  database.exec(
    `DELETE FROM trace_rows; DELETE FROM trace_ids; INSERT OR REPLACE INTO kept (kind, id, value) VALUES ('${MARK}', 'exec', '{}')`,
  )
  const writer = createWriter(database)
  return {
    async keep(sessions) {
      const calls = sessions
        .flatMap((traces) => [...traces.since(0)].map(({ trace, heard }) => ({ traces, trace, heard })))
        .sort((one, other) => (one.heard?.arrived ?? 0) - (other.heard?.arrived ?? 0))
      const target = traceStore(database, writer)
      const writes = calls.map(({ traces, trace, heard }, index) => {
        const { request, rendered, answer } = traces.get(trace.id) ?? { request: null, rendered: null, answer: null }
        const texts = {
          request: JSON.stringify(request),
          rendered: JSON.stringify(rendered),
          answer: JSON.stringify(answer),
        }
        return target.record(index + 1, trace satisfies TraceRecord, {
          ...texts,
          ...(heard ?? { arrived: 0, left: 0 }),
        })
      })
      await Promise.all(writes)
    },
    close() {
      writer.close()
      release()
    },
  }
}
