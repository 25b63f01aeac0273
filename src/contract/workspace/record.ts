// Workspace records as they are stored, of any kind.

/** The kind of the records that are events. One has a key as long as it waits. */
export const EVENT = 'event'

/** The fields of a record, or of a body that creates or changes one. */
export type Fields = Record<string, unknown>

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

/** The records of one session. Every method is synchronous; changes belong inside `Session.transact`. */
export interface Records {
  get(kind: string, workspace: string, id: string): { parent: string; body: Fields } | undefined
  byKey(kind: string, workspace: string, parent: string, key: string): Fields | undefined
  /** A top-level record of a workspace, by its id or else by its key. */
  named(kind: string, workspace: string, name: string): Fields | undefined
  /** Newest first. `hasMore` tells whether the list continues in the direction of paging. */
  page(filter: PageFilter): { data: Fields[]; hasMore: boolean }
  /** Whether this id can be a cursor of the list. */
  inList(filter: Omit<PageFilter, 'limit'>, id: string): boolean
  /** Every record of a kind that has a key, in all workspaces, oldest first. */
  keyed(kind: string): { workspace: string; body: Fields }[]
  /** Whether any record of a workspace has this value in a field. It scans all of them. */
  mentions(workspace: string, field: string, value: string): boolean
  /** Number of top-level records by kind. */
  counts(): Record<string, number>
  insert(record: NewRecord): void
  update(id: string, change: { key: string | null; body: Fields }): void
  /** Removes records with all their children. */
  remove(ids: readonly string[]): void
  /** Removes the records of a list, which has no keys, and everything that lies in them: how many the list had. */
  empty(list: Pick<PageFilter, 'kind' | 'parent'>): number
  /** The number of the next record: 1, 2, ...; goes on after a restart and never comes twice. */
  nextNumber(): number
  /** Whether there has never been a record. */
  isNew(): boolean
  /** The last number; 0 if there was none. */
  lastNumber(): number
}

/** Content of a session's records that is not JSON. It is deleted with its record. */
export interface Contents {
  putFile(seq: number, bytes: Uint8Array): void
  /** The bytes of a file record, by its id. */
  file(id: string): Uint8Array | undefined
  putChunk(seq: number, chunk: { knowledge: string; text: string; vector: Float32Array }): void
  /** Replaces the text and the vector of a chunk record, by its id. */
  changeChunk(id: string, chunk: { text: string; vector: Float32Array }): void
  /** Scores from 0 to 1 of chunks that contain any of these words (letters and digits), by number. */
  byWords(knowledge: string, words: readonly string[], limit: number): Map<number, number>
  /** Cosine similarities of the next chunks of a knowledge base to a unit vector, by number, in order. */
  byVector(knowledge: string, vector: Float32Array, next: { after: number; limit: number }): [number, number][]
  /** A record by its number. */
  bySeq(seq: number): Fields | undefined
}

/** The caller, and the workspace of the records that it creates. */
export interface Caller {
  /** UUIDs. */
  workspace: string
  user: string
  /** Name of the project that the token is bound to, if any. */
  project?: string | undefined
}
