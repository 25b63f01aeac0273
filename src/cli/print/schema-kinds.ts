// The file formats and reports with a JSON Schema.

/** Their names. */
export const SCHEMA_KINDS = [
  'fixture',
  'seed',
  'scenario',
  'cassette',
  'verdict',
  'exec-report',
  'explore-report',
  'drift-report',
  'rehearse-report',
] as const
/** A file format or a report with a schema. */
export type SchemaKind = (typeof SCHEMA_KINDS)[number]
