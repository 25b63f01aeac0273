// The tables of a database. record-store.ts describes that of records for drizzle.
import { FORMATS } from '../contract/core/formats.ts'

/** Version of the tables and of their rows (trace-row.ts). */
export const SCHEMA_VERSION = FORMATS.database

/**
 * The number up to which traces are hidden, according to the newest row. They are removed later, many at once. A
 * damaged row hides no other one.
 */
export const LAST_HIDDEN =
  "SELECT hidden FROM trace_rows WHERE typeof(hidden) = 'integer' AND hidden < seq ORDER BY seq DESC LIMIT 1"

/** The condition of hidden rows; the view `traces` has the others. */
export const NOT_SHOWN = `seq <= (${LAST_HIDDEN})`

/** Creates the tables. */
export const SCHEMA = `
  CREATE TABLE trace_rows (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL,
    session TEXT NOT NULL,
    hidden INTEGER NOT NULL,
    started INTEGER NOT NULL,
    arrived INTEGER,
    left INTEGER,
    model TEXT,
    status INTEGER NOT NULL,
    thread TEXT,
    record TEXT NOT NULL,
    request TEXT NOT NULL,
    rendered TEXT,
    answer TEXT NOT NULL,
    exchange TEXT,
    apart INTEGER
  );
  CREATE INDEX trace_rows_thread ON trace_rows (thread) WHERE thread IS NOT NULL;
  CREATE VIEW traces AS SELECT * FROM trace_rows WHERE seq > coalesce((${LAST_HIDDEN}), 0);
  -- Very long texts of traces, which are written before their trace (long-texts.ts).
  CREATE TABLE long_texts (
    trace INTEGER NOT NULL,
    field TEXT NOT NULL,
    part INTEGER NOT NULL,
    text TEXT NOT NULL,
    PRIMARY KEY (trace, field, part)
  );
  CREATE TRIGGER trace_rows_removed AFTER DELETE ON trace_rows WHEN old.apart IS NOT NULL BEGIN
    DELETE FROM long_texts WHERE trace = old.seq;
  END;

  -- With row numbers, which tell what was written first.
  CREATE TABLE kept (
    kind TEXT NOT NULL,
    id TEXT NOT NULL,
    value TEXT NOT NULL,
    expires INTEGER,
    PRIMARY KEY (kind, id)
  );
  CREATE INDEX kept_expires ON kept (expires) WHERE expires IS NOT NULL;

  CREATE TABLE records (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    kind TEXT NOT NULL,
    id TEXT NOT NULL UNIQUE,
    workspace TEXT NOT NULL,
    parent TEXT NOT NULL,
    key TEXT,
    body TEXT NOT NULL
  );
  CREATE INDEX records_list ON records (kind, workspace, parent, seq);
  CREATE INDEX records_inside ON records (parent, kind) WHERE parent <> '';
  CREATE UNIQUE INDEX records_key ON records (kind, workspace, parent, key) WHERE key IS NOT NULL;
  CREATE INDEX records_named ON records (kind, key) WHERE key IS NOT NULL;
  -- Lists that were emptied: their records up to a number are removed some at a time, and nobody sees them any more.
  CREATE TABLE emptied (parent TEXT NOT NULL, kind TEXT NOT NULL, seq INTEGER NOT NULL, PRIMARY KEY (parent, kind)) WITHOUT ROWID;
  CREATE VIEW live_records AS SELECT * FROM records r WHERE r.parent = '' OR NOT EXISTS (
    SELECT 1 FROM emptied e WHERE e.parent = r.parent AND e.kind = r.kind AND e.seq >= r.seq);
  CREATE VIEW emptied_records AS SELECT r.seq FROM emptied e
    JOIN records r ON r.parent = e.parent AND r.parent <> '' AND r.kind = e.kind AND r.seq <= e.seq;
  CREATE TABLE blobs (seq INTEGER PRIMARY KEY, bytes BLOB NOT NULL);
  CREATE TABLE vectors (seq INTEGER PRIMARY KEY, knowledge TEXT NOT NULL, vector BLOB NOT NULL);
  CREATE INDEX vectors_knowledge ON vectors (knowledge);
  CREATE VIRTUAL TABLE chunk_texts USING fts5(text, tokenize = 'porter unicode61');
  CREATE TRIGGER chunks_removed AFTER DELETE ON records WHEN old.kind = 'chunk' BEGIN
    DELETE FROM vectors WHERE seq = old.seq;
    DELETE FROM chunk_texts WHERE rowid = old.seq;
  END;
  CREATE TRIGGER files_removed AFTER DELETE ON records WHEN old.kind = 'file' BEGIN
    DELETE FROM blobs WHERE seq = old.seq;
  END;

  -- What a session was made with, in the file that it has of its own.
  CREATE TABLE session_settings (id INTEGER PRIMARY KEY CHECK (id = 1), settings TEXT NOT NULL);
  -- How often each sequence of replies was used.
  CREATE TABLE sequences (
    counter TEXT PRIMARY KEY,
    uses INTEGER NOT NULL,
    before INTEGER NOT NULL,
    call TEXT
  ) WITHOUT ROWID;`
