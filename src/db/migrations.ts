// The schema, one step a version; a step that has shipped is never edited. db/schema.ts describes the result to drizzle.

/** SQL of each schema version, in order; `user_version` counts those applied. */
export const migrations: readonly string[] = [
  `CREATE TABLE traces (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    started INTEGER NOT NULL,
    model TEXT NOT NULL,
    status INTEGER NOT NULL,
    record TEXT NOT NULL,
    request TEXT NOT NULL,
    answer TEXT NOT NULL
  );`,
]
