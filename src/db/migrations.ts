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
]
