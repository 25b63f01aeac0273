// The tables as drizzle sees them; db/migrations.ts makes them.
import { integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'

/** Traces by call number, which is also the order in which calls came in. */
export const traces = sqliteTable('traces', {
  seq: integer('seq').primaryKey(),
  id: text('id').notNull().unique(),
  /** Milliseconds since the epoch. */
  started: integer('started').notNull(),
  model: text('model').notNull(),
  status: integer('status').notNull(),
  /** A `TraceRecord` as JSON. */
  record: text('record').notNull(),
  /** The request's JSON text as it came; a text that is no JSON is kept as a JSON string. */
  request: text('request').notNull(),
  /** The answer's JSON text, `null` when there was none. */
  answer: text('answer').notNull(),
})
