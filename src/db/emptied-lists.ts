// Lists of records that are emptied: a long one is marked, so that its records are gone for everybody at once, and they are removed some at
// a time afterwards. When the process is killed in between, the next one goes on.
import { once } from '../lib/once.ts'
import type { Database } from './open.ts'
import type { Writes } from './writer.ts'

/** Records that are removed together with whatever they lie in, and in one step afterwards: a few milliseconds. */
const AT_ONCE = 250

/** Records that lie in some others (`@ids`, a JSON array), however deep, and those themselves; no more than `@most`. */
const INSIDE = `WITH RECURSIVE inside(id) AS (
  SELECT value FROM json_each(@ids)
  UNION SELECT r.id FROM records r JOIN inside i ON r.parent = i.id AND r.parent <> '' LIMIT @most)`
/** Those of them that something lies in. */
const LISTS = `WITH RECURSIVE lists(id) AS (
  SELECT value FROM json_each(@ids)
  UNION SELECT r.id FROM records r JOIN lists l ON r.parent = l.id AND r.parent <> ''
  WHERE EXISTS (SELECT 1 FROM records c WHERE c.parent = r.id AND c.parent <> ''))`

/** The statements, compiled at their first use: the triggers are compiled with them, for which all that they write to must be sound. */
const statementsOf = (database: Database) => ({
  count: database
    .prepare("SELECT count(*) FROM live_records WHERE parent <> '' AND parent IN (SELECT value FROM json_each(?))")
    .pluck(),
  countInside: database.prepare(`${INSIDE} SELECT count(*) FROM inside`).pluck(),
  removeInside: database.prepare(
    `${INSIDE} DELETE FROM records WHERE id IN (SELECT id FROM inside EXCEPT SELECT value FROM json_each(@ids))`,
  ),
  mark: database.prepare(`${LISTS} INSERT OR REPLACE INTO emptied SELECT id, @last FROM lists`),
  sweep: database.prepare(`DELETE FROM records WHERE seq IN (SELECT seq FROM emptied_records LIMIT ${AT_ONCE})`),
})

/** Empties lists of a database: `writes` commits the steps in which long ones are removed. */
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
    // Whatever was marked since the last step began is still there.
    left = true
    if (going) return
    going = true
    try {
      while (left && database.open) {
        left = false
        await step({})
      }
    } catch {
      // It is removed after the next start: nobody sees it.
    } finally {
      going = false
    }
  }
  if (database.prepare('SELECT 1 FROM emptied LIMIT 1').get() !== undefined) void begin()
  return {
    /**
     * Removes everything that lies in some records (a JSON array of ids); `last` is the number of the newest record. Gives how many lay in
     * them directly.
     */
    empty(ids: string, last: number): number {
      const { count, countInside, removeInside, mark } = statements()
      const found = Number(count.get(ids))
      if (found === 0) return 0
      const most = (JSON.parse(ids) as unknown[]).length + AT_ONCE
      if (found <= AT_ONCE && Number(countInside.get({ ids, most: most + 1 })) <= most) removeInside.run({ ids, most })
      else {
        mark.run({ ids, last })
        void begin()
      }
      return found
    },
  }
}
