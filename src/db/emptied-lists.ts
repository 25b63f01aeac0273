// Empties lists of records: a long one is marked, so that its records disappear at once, and they are removed in
// batches afterwards. If the process is killed meanwhile, the next one continues.
import { once } from '../lib/once.ts'
import type { Database } from './open.ts'
import type { Writes } from './writer.ts'

/** Records that are removed together with their parent, or in one later batch: a few milliseconds. */
const AT_ONCE = 250

/** What is in which records. */
interface Lists {
  /** Ids of records, as a JSON array. */
  ids: string
  /** Of which kind the records are that lie in them directly; null is every kind. */
  kind: string | null
  /** The number of the newest record. */
  last: number
}

/** All records in these lists, however deep; no more than `@most`. */
const INSIDE = `WITH RECURSIVE inside(id) AS (
  SELECT id FROM records
  WHERE parent <> '' AND parent IN (SELECT value FROM json_each(@ids)) AND kind = ifnull(@kind, kind)
  UNION SELECT r.id FROM records r JOIN inside i ON r.parent = i.id AND r.parent <> '' LIMIT @most)`
/** The records that something of it lies in directly. */
const LISTS = `WITH RECURSIVE lists(id, kind) AS (
  SELECT value, @kind FROM json_each(@ids)
  UNION SELECT r.id, NULL FROM records r JOIN lists l ON r.parent = l.id AND r.parent <> '' AND r.kind = ifnull(l.kind, r.kind)
  WHERE EXISTS (SELECT 1 FROM records c WHERE c.parent = r.id AND c.parent <> ''))`

/**
 * The statements, compiled on first use: the triggers are compiled with them, which requires all of their tables to be
 * intact.
 */
const statementsOf = (database: Database) => ({
  count: database
    .prepare(
      `SELECT count(*) FROM live_records
      WHERE parent <> '' AND parent IN (SELECT value FROM json_each(@ids)) AND kind = ifnull(@kind, kind)`,
    )
    .pluck(),
  countInside: database.prepare(`${INSIDE} SELECT count(*) FROM inside`).pluck(),
  removeInside: database.prepare(`${INSIDE} DELETE FROM records WHERE id IN (SELECT id FROM inside)`),
  mark: database.prepare(
    `${LISTS} INSERT OR REPLACE INTO emptied SELECT DISTINCT r.parent, r.kind, @last
    FROM lists l JOIN records r ON r.parent = l.id AND r.parent <> '' AND r.kind = ifnull(l.kind, r.kind)`,
  ),
  sweep: database.prepare(`DELETE FROM records WHERE seq IN (SELECT seq FROM emptied_records LIMIT ${AT_ONCE})`),
})

/** Empties lists of a database; `writes` commits the batches of long ones. */
export function emptiedLists(database: Database, writes: Writes) {
  const statements = once(() => statementsOf(database))
  let left = false
  const step = writes.batched({
    put() {
      left = statements().sweep.run().changes === AT_ONCE
      if (!left) database.exec('DELETE FROM emptied')
    },
  })
  let going = false
  const begin = async () => {
    // Whatever was marked since the last batch started is still there.
    left = true
    if (going) return
    going = true
    try {
      while (left && database.open) {
        left = false
        await step({})
      }
    } catch {
      // It is removed after the next start, and not visible until then.
    } finally {
      going = false
    }
  }
  if (database.prepare('SELECT 1 FROM emptied LIMIT 1').get() !== undefined) void begin()
  return {
    /** Removes everything in some lists: how many records were in them directly. */
    empty({ ids, kind, last }: Lists): number {
      const { count, countInside, removeInside, mark } = statements()
      const found = Number(count.get({ ids, kind }))
      if (found === 0) return 0
      if (found <= AT_ONCE && Number(countInside.get({ ids, kind, most: AT_ONCE + 1 })) <= AT_ONCE)
        removeInside.run({ ids, kind, most: AT_ONCE })
      else {
        mark.run({ ids, kind, last })
        void begin()
      }
      return found
    },
  }
}
