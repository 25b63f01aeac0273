// Kept things in SQLite (contract/kept.ts).
import { and, eq, gt, isNull, lte, or, sql } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/better-sqlite3'
import type { KeyValueStore } from '../contract/key-value.ts'
import type { Database } from './open.ts'
import { kept } from './schema.ts'
import type { Writer } from './writer.ts'

/** Kept things of a database; what has expired at `now` (ms since the epoch) goes when something else comes. */
export function keptStore(connection: Database, writer: Pick<Writer, 'write'>, now: () => number): KeyValueStore {
  const database = drizzle(connection)
  const purge = database
    .delete(kept)
    .where(lte(kept.expires, sql.placeholder('now')))
    .prepare()
  return {
    get(kind, id, now) {
      const row = database
        .select({ value: kept.value })
        .from(kept)
        .where(and(eq(kept.kind, kind), eq(kept.id, id), or(isNull(kept.expires), gt(kept.expires, now))))
        .get()
      return row && JSON.parse(row.value)
    },
    put: ({ kind, id, value, expires = null }) =>
      writer.write(() => {
        if (expires !== null) purge.run({ now: now() })
        const row = { kind, id, value: JSON.stringify(value), expires }
        database
          .insert(kept)
          .values(row)
          .onConflictDoUpdate({ target: [kept.kind, kept.id], set: row })
          .run()
      }),
  }
}
