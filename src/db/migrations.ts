// The schema, one step a version; a step that has shipped is never edited. db/schema.ts describes the result to drizzle.

/** SQL of each schema version, in order; `user_version` counts those applied. */
export const migrations: readonly string[] = [
  `CREATE TABLE traces (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    started INTEGER NOT NULL,
    model TEXT,
    status INTEGER NOT NULL,
    thread TEXT,
    record TEXT NOT NULL,
    request TEXT NOT NULL,
    rendered TEXT NOT NULL,
    answer TEXT NOT NULL
  );
  CREATE INDEX traces_thread ON traces (thread) WHERE thread IS NOT NULL;
  CREATE TABLE kept (
    kind TEXT NOT NULL,
    id TEXT NOT NULL,
    value TEXT NOT NULL,
    expires INTEGER,
    PRIMARY KEY (kind, id)
  ) WITHOUT ROWID;`,
  `CREATE TABLE records (
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
  CREATE TABLE blobs (seq INTEGER PRIMARY KEY, bytes BLOB NOT NULL);
  CREATE TABLE vectors (seq INTEGER PRIMARY KEY, knowledge TEXT NOT NULL, vector BLOB NOT NULL);
  CREATE INDEX vectors_knowledge ON vectors (knowledge);
  CREATE VIRTUAL TABLE chunk_texts USING fts5(text, tokenize = 'porter unicode61');
  CREATE TRIGGER records_removed AFTER DELETE ON records BEGIN
    DELETE FROM blobs WHERE seq = old.seq;
    DELETE FROM vectors WHERE seq = old.seq;
    DELETE FROM chunk_texts WHERE rowid = old.seq AND old.kind = 'chunk';
  END;`,
  `ALTER TABLE traces ADD COLUMN arrived INTEGER;
  ALTER TABLE traces ADD COLUMN left INTEGER;`,
  'CREATE INDEX kept_expires ON kept (expires) WHERE expires IS NOT NULL;',
  'CREATE INDEX records_named ON records (kind, key) WHERE key IS NOT NULL;',
  'ALTER TABLE traces ADD COLUMN client TEXT;',
  // With row numbers, which tell what was written first.
  `CREATE TABLE kept_rows (
    kind TEXT NOT NULL,
    id TEXT NOT NULL,
    value TEXT NOT NULL,
    expires INTEGER,
    PRIMARY KEY (kind, id)
  );
  INSERT INTO kept_rows SELECT kind, id, value, expires FROM kept;
  DROP TABLE kept;
  ALTER TABLE kept_rows RENAME TO kept;
  CREATE INDEX kept_expires ON kept (expires) WHERE expires IS NOT NULL;`,
  // Very long texts of traces, which are written before their trace (long-texts.ts).
  `CREATE TABLE long_texts (
    trace INTEGER NOT NULL,
    field TEXT NOT NULL,
    part INTEGER NOT NULL,
    text TEXT NOT NULL,
    PRIMARY KEY (trace, field, part)
  );
  ALTER TABLE traces ADD COLUMN apart INTEGER;
  CREATE TRIGGER traces_removed AFTER DELETE ON traces WHEN old.apart IS NOT NULL BEGIN
    DELETE FROM long_texts WHERE trace = old.seq;
  END;`,
  // Compact rows (trace-row.ts): what a `record` of these holds has no column beside it. Those of before stay as they are.
  // The newest row says up to which number no trace is shown any more; what is not shown is removed later, many at once.
  `CREATE TABLE trace_rows (
    seq INTEGER PRIMARY KEY,
    started INTEGER NOT NULL,
    model TEXT,
    status INTEGER NOT NULL,
    record TEXT NOT NULL,
    request TEXT NOT NULL,
    answer TEXT NOT NULL,
    rendered TEXT NOT NULL DEFAULT 'null',
    thread TEXT,
    apart INTEGER,
    arrived INTEGER,
    left INTEGER,
    client TEXT
  );
  INSERT INTO trace_rows
    SELECT seq, started, model, status, record, request, answer, rendered, thread, apart, arrived, left, client FROM traces;
  DROP TABLE traces;
  CREATE INDEX trace_rows_thread ON trace_rows (thread) WHERE thread IS NOT NULL;
  CREATE TRIGGER trace_rows_removed AFTER DELETE ON trace_rows WHEN old.apart IS NOT NULL BEGIN
    DELETE FROM long_texts WHERE trace = old.seq;
  END;
  CREATE VIEW traces AS SELECT * FROM trace_rows
    WHERE seq > coalesce((SELECT record ->> '$[0]' FROM trace_rows ORDER BY seq DESC LIMIT 1), 0);
  CREATE TABLE trace_ids (block INTEGER PRIMARY KEY, marks BLOB NOT NULL);`,
  // Nothing to be done: a record may say less from here on (trace-row.ts), which programs that know version 9 would misread.
  '',
  // What a session was made with, in the file that it has of its own; how often each sequence of replies was used.
  `CREATE TABLE session_settings (id INTEGER PRIMARY KEY CHECK (id = 1), settings TEXT NOT NULL);
  CREATE TABLE sequences (
    counter TEXT PRIMARY KEY,
    uses INTEGER NOT NULL,
    before INTEGER NOT NULL,
    call TEXT
  ) WITHOUT ROWID;`,
  // What the connections of calls carried (packed-parts.ts); version 9 to 11 have the events of streams in the record instead.
  'ALTER TABLE trace_rows ADD COLUMN exchange TEXT;',
  // A row that is damaged hides no other one, and breaks no list.
  `DROP VIEW traces;
  CREATE VIEW traces AS SELECT * FROM trace_rows
    WHERE seq > coalesce((
      SELECT CASE WHEN json_type(record, '$[0]') = 'integer' AND record ->> '$[0]' < seq THEN record ->> '$[0]' END
      FROM trace_rows WHERE json_valid(record) ORDER BY seq DESC LIMIT 1), 0);`,
]
