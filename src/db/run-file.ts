// A database file that stores the calls of a finished run, of all its sessions, for the trace command.
import type { TraceRecord } from '../contract/core/trace.ts'
import { ulidOf } from '../lib/ids.ts'
import { DatabaseError, openFile } from './open.ts'
import { type TraceStore, traceStore } from './trace-store.ts'
import { createWriter } from './writer.ts'

/** Marks a file that contains only a stored run. */
const MARK = 'run'

/** How a file is opened for a run. */
interface RunFileOptions {
  /** Keeps the calls that are already stored. */
  add?: boolean
  /** Maximum size of the calls in bytes: beyond it the oldest are dropped. Unlimited if omitted. */
  bytes?: number
}

/**
 * Opens a file for a run, whose calls replace those of an earlier one unless `add` is set.
 * @throws DatabaseError if it contains anything else
 */
export function openRunFile(file: string, { add = false, bytes }: RunFileOptions = {}) {
  const { database, release } = openFile(file)
  const number = (sql: string) => Number(database.prepare(sql).pluck().get())
  const isRun = number(`SELECT count(*) FROM kept WHERE kind = '${MARK}'`) > 0
  const rows = number('SELECT (SELECT count(*) FROM trace_rows) + (SELECT count(*) FROM records)')
  if (rows > 0 && !isRun) {
    database.close()
    release()
    throw new DatabaseError(
      `database ${file} is that of a server, which a run would replace`,
      ': name another file with --db',
    )
  }
  if (!add) database.exec('DELETE FROM trace_rows')
  database.exec(`INSERT OR REPLACE INTO kept (kind, id, value) VALUES ('${MARK}', 'exec', '{}')`)
  const writer = createWriter(database)
  const target = traceStore(database, writer, { bytes })
  // In sequence: used numbers and ids are known once all earlier writes are done.
  let written: Promise<unknown> = Promise.resolve()
  return {
    /**
     * Adds the calls of these sessions, in order, after the stored ones. Returns new ids for those that already exist:
     * two runs may make the same call in the same millisecond.
     * @param isKept which calls are stored, by id; default: all
     */
    keep(
      sessions: readonly TraceStore[],
      isKept: (id: string) => boolean = () => true,
    ): Promise<ReadonlyMap<string, string>> {
      const kept = written.then(() => keepCalls(target, sessions, isKept))
      written = kept.catch(() => {})
      return kept
    },
    close(): void {
      writer.close()
      release()
    },
  }
}

/** A file for a run. */
export type RunFile = ReturnType<typeof openRunFile>

async function keepCalls(
  target: TraceStore,
  sessions: readonly TraceStore[],
  isKept: (id: string) => boolean,
): Promise<ReadonlyMap<string, string>> {
  const calls = sessions
    .flatMap((traces) => [...traces.since(0)].map(({ trace, times }) => ({ traces, trace, times })))
    .filter(({ trace }) => isKept(trace.parent ?? trace.id))
    .sort((one, other) => (one.times?.arrived ?? 0) - (other.times?.arrived ?? 0))
  const last = target.lastSeq()
  const taken = calls.filter(({ trace }) => target.has(trace.id))
  const ids = new Map(taken.map(({ trace: { id, started_at } }) => [id, ulidOf(last, Date.parse(started_at), id, 0)]))
  const idOf = (id: string) => ids.get(id) ?? id
  const writes = calls.map(({ traces, trace, times }, index) => {
    const { request, rendered, response } = traces.get(trace.id) ?? { request: null, rendered: null, response: null }
    const texts = { request: JSON.stringify(request), rendered: JSON.stringify(rendered) }
    const kept: TraceRecord = { ...trace, id: idOf(trace.id), parent: trace.parent && idOf(trace.parent) }
    return target.record(last + index + 1, kept, {
      ...texts,
      answer: JSON.stringify(response),
      ...(times ?? { arrived: 0, left: 0 }),
    })
  })
  await Promise.all(writes)
  return ids
}
