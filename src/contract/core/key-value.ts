// What one call of a session stores for later ones: responses, image files, cached responses.

/** One stored value: JSON under a kind and an id. */
export interface KeyValueEntry {
  kind: string
  id: string
  value: unknown
  /** Its JSON, if already known. */
  text?: string
  /** Milliseconds since the epoch at which it expires; never if omitted. */
  expires?: number
}

/** The stored values of one session. */
export interface KeyValueStore {
  /**
   * The value; undefined if nothing is stored or it has expired at `now` (ms since the epoch). `isValue` checks its
   * shape.
   * @throws DamagedRow 507 if it cannot be read or has another shape
   */
  get<Value>(kind: string, id: string, now: number, isValue: (value: unknown) => value is Value): Value | undefined
  /** Stores a value under its kind and id. Resolves when it is committed. */
  put(keep: KeyValueEntry): Promise<void>
}
