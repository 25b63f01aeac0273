// Workspace records in SQLite: one table for every kind, so that a new resource needs no migration.
import { and, asc, count, desc, eq, gt, lt, type Placeholder, type SQL, sql } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/better-sqlite3'
import { integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import type { Fields } from '../contract/workspace/record.ts'
import { once } from '../lib/once.ts'
import { asObject } from '../lib/values.ts'
import { MAX_NUMBER, readableRow, readRow } from './damaged-rows.ts'
import { emptiedLists } from './emptied-lists.ts'
import type { Database } from './open.ts'
import { checkBody, type RecordShapes } from './record-shapes.ts'
import type { Writes } from './writer.ts'

/** A record with its keys. */
interface NewRecord {
  /** Its number in the session, from `Records.nextNumber`; also its position in lists. */
  seq: number
  /** The resource, such as `dataset`. */
  kind: string
  id: string
  workspace: string
  /** Id of the parent record, such as a datapoint's dataset; empty at the top. */
  parent: string
  /** Unique in workspace, kind and parent; null if the kind has none. */
  key: string | null
  body: Fields
}

/** The filter of a page of a list. The cursors are ids of records in the same list. */
export interface PageFilter {
  kind: string
  workspace: string
  parent: string
  /** Maximum number of records; all if omitted. */
  limit?: number | undefined
  after?: string | undefined
  before?: string | undefined
}

const recordColumns = () => ({
  seq: integer('seq').primaryKey({ autoIncrement: true }),
  kind: text('kind').notNull(),
  id: text('id').notNull().unique(),
  workspace: text('workspace').notNull(),
  /** Id of the parent record; empty at the top. */
  parent: text('parent').notNull(),
  /** Unique in kind, workspace and parent. */
  key: text('key'),
  /** The record as JSON. */
  body: text('body').notNull(),
})

/** Records of the workspace, of every kind, by number. Lists are in that order, newest first. */
const records = sqliteTable('records', recordColumns())
/** A view of those that are in no list that was emptied: what is read. */
const liveRecords = sqliteTable('live_records', recordColumns())

type RecordRow = typeof liveRecords.$inferSelect

/** Maximum number of rows known to be valid; beyond these, some are validated again. */
const MAX_SOUND = 100_000

/**
 * Reads the rows of a database.
 * @throws DamagedRow
 */
function readerOf(database: Database, shapes: RecordShapes) {
  const sound = new Set<number>()
  const check = ({ seq, kind, id }: RecordRow, fields: Fields) => {
    // Only this process writes to memory, and snapshots are validated when loaded.
    if (database.memory || sound.has(seq)) return
    checkBody(shapes(kind), id, fields)
    if (sound.size >= MAX_SOUND) sound.clear()
    sound.add(seq)
  }
  return (row: RecordRow): Fields =>
    readRow(database, { table: 'records', row: row.seq }, () => {
      const fields = asObject(JSON.parse(row.body))
      if (fields === undefined) throw new Error('its body is not a JSON object')
      check(row, fields)
      return fields
    })
}
type Reader = ReturnType<typeof readerOf>

type Query = ReturnType<typeof drizzle>
const param = sql.placeholder
/**
 * A parameter in a statement with an order or a limit. SQLite compiles such a statement again whenever a value is bound
 * to a bare parameter, since that might change the plan (sqlite3_prepare): a page takes 100 instead of 7 us.
 */
const plainParam = (name: string) => sql`+${param(name)}`

/** The read statements of a database, each prepared when it is first used. */
function readsOf(database: Query) {
  const inKind = and(eq(liveRecords.kind, param('kind')), eq(liveRecords.workspace, param('workspace')))
  const inParent = and(inKind, eq(liveRecords.parent, param('parent')))
  const inList = and(
    eq(liveRecords.kind, plainParam('kind')),
    eq(liveRecords.workspace, plainParam('workspace')),
    eq(liveRecords.parent, plainParam('parent')),
  )
  const rows = (condition: SQL | undefined) => database.select().from(liveRecords).where(condition)
  const pageOf = (isBeyond: typeof lt, order: typeof desc) =>
    rows(and(inList, isBeyond(liveRecords.seq, param('from'))))
      .orderBy(order(liveRecords.seq))
      // The builder's types have no expression here.
      .limit(plainParam('limit') as unknown as Placeholder)
      .prepare()
  const seqs = database.select({ seq: liveRecords.seq }).from(liveRecords)
  return {
    byId: once(() => rows(and(eq(liveRecords.id, param('id')), inKind)).prepare()),
    byKey: once(() => rows(and(inParent, eq(liveRecords.key, param('key')))).prepare()),
    seqById: once(() => seqs.where(and(eq(liveRecords.id, param('id')), inParent)).prepare()),
    older: once(() => pageOf(lt, desc)),
    newer: once(() => pageOf(gt, asc)),
    keyed: once(() =>
      // No key is empty. This form uses the index of keys.
      rows(and(eq(liveRecords.kind, plainParam('kind')), gt(liveRecords.key, '')))
        .orderBy(asc(liveRecords.seq))
        .prepare(),
    ),
  }
}

/** The write statements of a database, each prepared when it is first used. */
const writesOf = (database: Query) => ({
  insert: once(() =>
    database
      .insert(records)
      .values({
        seq: param('seq'),
        kind: param('kind'),
        id: param('id'),
        workspace: param('workspace'),
        parent: param('parent'),
        key: param('key'),
        body: param('body'),
      })
      .prepare(),
  ),
  update: once(() =>
    database
      .update(records)
      .set({ key: sql`${param('key')}`, body: sql`${param('body')}` })
      .where(eq(records.id, param('id')))
      .prepare(),
  ),
  // Its triggers are compiled with it, which requires all of their tables to be intact.
  remove: once(() =>
    database
      .delete(records)
      .where(sql`${records.id} IN (SELECT value FROM json_each(${param('ids')}))`)
      .prepare(),
  ),
})

type Reads = ReturnType<typeof readsOf>
const seqOf = ({ seqById }: Reads, { kind, workspace, parent }: PageFilter, id: string) =>
  seqById().get({ kind, workspace, parent, id })?.seq

function pageOf(reads: Reads, fieldsOf: Reader, filter: PageFilter): { data: Fields[]; hasMore: boolean } {
  const { kind, workspace, parent, limit, after, before } = filter
  const cursor = before ?? after
  let from = (cursor === undefined ? undefined : seqOf(reads, filter, cursor)) ?? Number.MAX_SAFE_INTEGER
  const found: Fields[] = []
  const next = before === undefined ? reads.older : reads.newer
  // Reads additional rows for damaged ones, so that a page is full.
  for (;;) {
    const missing = limit === undefined ? -1 : limit + 1 - found.length
    const rows = next().all({ kind, workspace, parent, from, limit: missing })
    for (const row of rows) found.push(...readableRow(() => fieldsOf(row)))
    if (missing < 0 || rows.length < missing || found.length > (limit ?? 0)) break
    from = rows.at(-1)?.seq ?? from
  }
  const data = limit === undefined ? found : found.slice(0, limit)
  const hasMore = found.length > data.length
  return { data: before === undefined ? data : data.reverse(), hasMore }
}

/** The last number: if the counter is damaged, from the rows. */
function lastNumberOf(connection: Database): number {
  const used = connection.prepare('SELECT max(seq) FROM records WHERE seq < ?').pluck().get(MAX_NUMBER)
  const counters = connection.prepare("SELECT seq FROM sqlite_sequence WHERE name = 'records'").pluck().all()
  const isNumber = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) < MAX_NUMBER
  return Math.max(0, ...[used, ...counters].filter(isNumber))
}

/** The dependencies of a store of records. */
export interface RecordOptions {
  /** The last number, if it cannot be derived from the stored rows. */
  last?: number | undefined
  /** The schemas of the bodies; any object if omitted. */
  shapes?: RecordShapes | undefined
  /** What removes the records of emptied lists some at a time. */
  writes: Writes
}

/** Records of a database. Every method is synchronous; changes belong inside `Session.transact`. */
export function recordStore(connection: Database, { last = 0, shapes = () => undefined, writes }: RecordOptions) {
  const database = drizzle(connection)
  const fieldsOf = readerOf(connection, shapes)
  const reads = readsOf(database)
  const { byId, byKey } = reads
  const { insert, update, remove } = writesOf(database)
  // Numbers of removed records are not reused, so the counter is separate from the rows.
  let numbers = Math.max(last, lastNumberOf(connection))
  const lists = emptiedLists(connection, writes)

  return {
    get(kind: string, workspace: string, id: string): { parent: string; body: Fields } | undefined {
      const row = byId().get({ kind, workspace, id })
      return row && { parent: row.parent, body: fieldsOf(row) }
    },
    byKey(kind: string, workspace: string, parent: string, key: string): Fields | undefined {
      const row = byKey().get({ kind, workspace, parent, key })
      return row && fieldsOf(row)
    },
    /** A top-level record of a workspace, by its id or else by its key. */
    named(kind: string, workspace: string, name: string): Fields | undefined {
      // One query for both would read every record of the kind.
      const row = byId().get({ kind, workspace, id: name }) ?? byKey().get({ kind, workspace, parent: '', key: name })
      return row && fieldsOf(row)
    },
    /** Newest first. `hasMore` tells whether the list continues in the direction of paging. */
    page: (filter: PageFilter) => pageOf(reads, fieldsOf, filter),
    /** Whether this id can be a cursor of the list. */
    inList: (filter: Omit<PageFilter, 'limit'>, id: string): boolean => seqOf(reads, filter, id) !== undefined,
    /** Every record of a kind that has a key, in all workspaces, oldest first. */
    keyed: (kind: string): { workspace: string; body: Fields }[] =>
      reads
        .keyed()
        .all({ kind })
        .flatMap((row) => readableRow(() => ({ workspace: row.workspace, body: fieldsOf(row) }))),
    /** Whether any record of a workspace has this value in a field. It scans all of them. */
    mentions: (workspace: string, field: string, value: string): boolean =>
      database
        .select({ seq: liveRecords.seq })
        .from(liveRecords)
        .where(
          and(
            eq(liveRecords.workspace, workspace),
            sql`iif(json_valid(${liveRecords.body}), json_extract(${liveRecords.body}, ${`$.${field}`}), NULL) = ${value}`,
          ),
        )
        .limit(1)
        .get() !== undefined,
    /** Number of top-level records by kind. */
    counts: (): Record<string, number> =>
      Object.fromEntries(
        database
          .select({ kind: records.kind, count: count() })
          .from(records)
          .where(eq(records.parent, ''))
          .groupBy(records.kind)
          .all()
          .map((row) => [row.kind, row.count]),
      ),
    insert({ body, ...record }: NewRecord): void {
      insert().run({ ...record, body: JSON.stringify(body) })
    },
    update(id: string, { key, body }: Pick<NewRecord, 'key' | 'body'>): void {
      update().run({ id, key, body: JSON.stringify(body) })
    },
    /** Removes records with all their children. */
    remove(ids: readonly string[]): void {
      const all = JSON.stringify(ids)
      lists.empty({ ids: all, kind: null, last: numbers })
      remove().run({ ids: all })
    },
    /** Removes the records of a list, which has no keys, and everything that lies in them: how many the list had. */
    empty: ({ kind, parent }: Pick<PageFilter, 'kind' | 'parent'>): number =>
      lists.empty({ ids: JSON.stringify([parent]), kind, last: numbers }),
    /** The number of the next record: 1, 2, ...; goes on after a restart and never comes twice. */
    nextNumber: (): number => ++numbers,
    /** Whether there has never been a record. */
    isNew: (): boolean => numbers === 0,
    /** The last number; 0 if there was none. */
    lastNumber: (): number => numbers,
  }
}

/** The records of one session. */
export type Records = ReturnType<typeof recordStore>
