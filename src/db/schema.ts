// The tables for drizzle, without those of traces; schema-sql.ts creates them.
import { blob, integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'

/** Stored values of calls, by kind and id. */
export const kept = sqliteTable(
  'kept',
  {
    kind: text('kind').notNull(),
    id: text('id').notNull(),
    value: text('value').notNull(),
    /** Milliseconds since the epoch; null for never. */
    expires: integer('expires'),
  },
  (table) => [primaryKey({ columns: [table.kind, table.id] })],
)

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
export const records = sqliteTable('records', recordColumns())
/** A view of those that are in no list that was emptied: what is read. */
export const liveRecords = sqliteTable('live_records', recordColumns())

/** Contents of files, by the number of the record; a trigger deletes them with it, as everything below. */
export const blobs = sqliteTable('blobs', {
  seq: integer('seq').primaryKey(),
  bytes: blob('bytes', { mode: 'buffer' }).notNull(),
})

/** Embeddings of chunks: float32, little-endian, unit length. */
export const vectors = sqliteTable('vectors', {
  seq: integer('seq').primaryKey(),
  /** Id of the knowledge base. */
  knowledge: text('knowledge').notNull(),
  vector: blob('vector', { mode: 'buffer' }).notNull(),
})
