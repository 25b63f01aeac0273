// The tables as drizzle sees them; db/migrations.ts makes them.
import { blob, integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'

/** Traces by call number, which is also the order in which calls came in. */
export const traces = sqliteTable('traces', {
  seq: integer('seq').primaryKey(),
  id: text('id').notNull().unique(),
  /** Milliseconds since the epoch. */
  started: integer('started').notNull(),
  /** Null when the body was refused before it named one. */
  model: text('model'),
  status: integer('status').notNull(),
  /** Id of the thread that the call belongs to. */
  thread: text('thread'),
  /** A `TraceRecord` as JSON. */
  record: text('record').notNull(),
  /** The request's JSON text as it came; a text that is no JSON is kept as a JSON string. */
  request: text('request').notNull(),
  /** The rendered request's JSON text, `null` when rendering changed nothing. */
  rendered: text('rendered').notNull(),
  /** The answer's JSON text, `null` when there was none. */
  answer: text('answer').notNull(),
  /** When the call came and when its answer had gone out, in ms since the epoch by the machine's clock, whatever the session's. */
  arrived: integer('arrived'),
  left: integer('left'),
  /** A `ClientNote` as JSON; null for calls that were not made here, or before there was one. */
  client: text('client'),
  /** Bytes of its texts that are stored in `long_texts`; null when all of them are here. */
  apart: integer('apart'),
})

/** What calls keep for later ones, by kind and id. */
export const kept = sqliteTable(
  'kept',
  {
    kind: text('kind').notNull(),
    id: text('id').notNull(),
    value: text('value').notNull(),
    /** Milliseconds since the epoch; null is never. */
    expires: integer('expires'),
  },
  (table) => [primaryKey({ columns: [table.kind, table.id] })],
)

/** Records of the workspace, of every kind, by number; lists show them in that order, newest first. */
export const records = sqliteTable('records', {
  seq: integer('seq').primaryKey({ autoIncrement: true }),
  kind: text('kind').notNull(),
  id: text('id').notNull().unique(),
  workspace: text('workspace').notNull(),
  /** Id of the record it lies in; empty at the top. */
  parent: text('parent').notNull(),
  /** Unique in kind, workspace and parent. */
  key: text('key'),
  /** The record as it is answered, as JSON. */
  body: text('body').notNull(),
})

/** Contents of files, by the number of the record; a trigger removes them with it, as everything below. */
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
