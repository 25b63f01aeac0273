// Workspace records as they are stored, of any kind.

/** The kind of the records that are events. One has a key as long as it waits. */
export const EVENT = 'event'

/** The fields of a record, or of a body that creates or changes one. */
export type Fields = Record<string, unknown>

/** The caller, and the workspace of the records that it creates. */
export interface Caller {
  /** UUIDs. */
  workspace: string
  user: string
  /** Name of the project that the token is bound to, if any. */
  project?: string | undefined
}
