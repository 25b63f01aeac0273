// Workspace records as they are stored, whatever their kind.

/** The kind of the records that are events; one has a key as long as it waits for its turn. */
export const EVENT = 'event'

/** The fields of a record, or of a body that makes or changes one. */
export type Fields = Record<string, unknown>

/** A record with what it is found by. */
interface NewRecord {
  /** Its number in the session, of `Records.nextNumber`; also its place in lists. */
  seq: number
  /** Which resource it belongs to, such as `dataset`. */
  kind: string
  id: string
  workspace: string
  /** Id of the record it lies in, such as a datapoint's dataset; empty at the top. */
  parent: string
  /** Unique in workspace, kind and parent; null when the kind has none. */
  key: string | null
  body: Fields
}

/** What a page of a list is narrowed by; the cursors are ids of records in the same list. */
export interface PageFilter {
  kind: string
  workspace: string
  parent: string
  /** Most records; all when left out. */
  limit?: number | undefined
  after?: string | undefined
  before?: string | undefined
}

/** The records of one session. Every method works at once; changes belong inside `Session.transact`. */
export interface Records {
  get(kind: string, workspace: string, id: string): { parent: string; body: Fields } | undefined
  byKey(kind: string, workspace: string, parent: string, key: string): Fields | undefined
  /** A record of a workspace, in no other, by its id or else by its key. */
  named(kind: string, workspace: string, name: string): Fields | undefined
  /** Newest first. `hasMore` says whether the list goes on in the direction of paging. */
  page(filter: PageFilter): { data: Fields[]; hasMore: boolean }
  /** Whether a page can begin at this id. */
  inList(filter: Omit<PageFilter, 'limit'>, id: string): boolean
  /** Every record of a kind that has a key, in all workspaces, oldest first. */
  keyed(kind: string): { workspace: string; body: Fields }[]
  /** Whether any record of a workspace has this value in a field. A look at each of them. */
  mentions(workspace: string, field: string, value: string): boolean
  /** How many records lie in no other, by kind. */
  counts(): Record<string, number>
  insert(record: NewRecord): void
  update(id: string, change: { key: string | null; body: Fields }): void
  /** Removes records and everything that lies in them. */
  remove(ids: readonly string[]): void
  /** Removes the records of a list, which has no keys, and everything that lies in them: how many the list had. */
  empty(list: Pick<PageFilter, 'kind' | 'parent'>): number
  /** The number of the next record: 1, 2, ...; goes on after a restart and never comes twice. */
  nextNumber(): number
  /** Whether there has never been a record. */
  isNew(): boolean
  /** The number that was given last; 0 when none was. */
  lastNumber(): number
}

/** What belongs to records of a session but is no JSON; it goes when its record goes. */
export interface Contents {
  putFile(seq: number, bytes: Uint8Array): void
  /** The bytes of a file record, by its id. */
  file(id: string): Uint8Array | undefined
  putChunk(seq: number, chunk: { knowledge: string; text: string; vector: Float32Array }): void
  /** Puts other words and another vector in the place of those of a chunk record, by its id. */
  changeChunk(id: string, chunk: { text: string; vector: Float32Array }): void
  /** Scores from 0 to 1 of chunks that hold any of these words (letters and digits), by number. */
  byWords(knowledge: string, words: readonly string[], limit: number): Map<number, number>
  /** Cosines of the next chunks of a knowledge base with a unit vector, by number, in their order. */
  byVector(knowledge: string, vector: Float32Array, next: { after: number; limit: number }): [number, number][]
  /** A record by its number. */
  bySeq(seq: number): Fields | undefined
}

/** Who makes a call, and where the records it makes belong. */
export interface Caller {
  /** UUIDs. */
  workspace: string
  user: string
  /** Name of the project that the token is bound to, if it is. */
  project?: string | undefined
}
