// Kept things in SQLite (contract/key-value.ts), bounded in bytes: the expired go first, then what was written longest ago.
import { and, eq, gt, isNull, or } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/better-sqlite3'
import type { KeyValueStore } from '../contract/key-value.ts'
import { once } from '../lib/once.ts'
import type { Database } from './open.ts'
import { type DroppedRows, rowBudget, rowBytes, rowBytesSql, type StoreSize } from './row-budget.ts'
import { kept } from './schema.ts'
import type { Writer } from './writer.ts'

/** A store that says how much it holds. */
export interface SizedKeyValueStore extends KeyValueStore {
  size(): StoreSize
}

/** What a store of kept things depends on. */
export interface KeyValueOptions {
  /** Milliseconds since the epoch: what has expired then goes when something else comes. */
  now(): number
  /** Bytes at most; any when left out. */
  bytes?: number | undefined
  /** What went, of a store over the same data before this one. */
  dropped?: DroppedRows
}

const BYTES = rowBytesSql('kind', 'id', 'value')

/** Kept things of a database. */
export function keptStore(
  connection: Database,
  writer: Pick<Writer, 'write'>,
  { now, bytes: limit = Number.POSITIVE_INFINITY, dropped = { count: 0, last: 0 } }: KeyValueOptions,
): SizedKeyValueStore {
  const database = drizzle(connection)
  const budget = rowBudget(connection, { table: 'kept', bytes: BYTES, limit, dropped })
  const statements = once(() => ({
    purge: connection.prepare(`DELETE FROM kept WHERE expires <= ? RETURNING ${BYTES}`).pluck(),
    remove: connection.prepare(`DELETE FROM kept WHERE kind = ? AND id = ? RETURNING ${BYTES}`).pluck(),
    // A new row, also for what was kept before: rows are numbered in the order in which they were written.
    insert: connection.prepare('INSERT INTO kept (kind, id, value, expires) VALUES (?, ?, ?, ?)'),
  }))
  return {
    get(kind, id, now) {
      const row = database
        .select({ value: kept.value })
        .from(kept)
        .where(and(eq(kept.kind, kind), eq(kept.id, id), or(isNull(kept.expires), gt(kept.expires, now))))
        .get()
      return row && JSON.parse(row.value)
    },
    put({ kind, id, value, text = JSON.stringify(value), expires = null }) {
      let tried = false
      const bytes = rowBytes([kind, id, text])
      return writer.write(
        () => {
          if (tried) budget.doubt()
          tried = true
          const { purge, remove, insert } = statements()
          budget.remove([...purge.all(now()), ...remove.all(kind, id)] as number[])
          insert.run(kind, id, text, expires)
          budget.add(bytes)
        },
        { bytes },
      )
    },
    size: budget.size,
  }
}
