// What one call of a session leaves for later ones: stored responses, picture files, cached answers.

/** One thing to keep: JSON under a kind and an id. */
export interface KeyValueEntry {
  kind: string
  id: string
  value: unknown
  /** Its JSON, when that is made already. */
  text?: string
  /** Milliseconds since the epoch after which it is gone; never when left out. */
  expires?: number
}

/** The kept things of one session. */
export interface KeyValueStore {
  /**
   * The value; undefined when nothing is stored or it has expired at `now` (ms since the epoch). `isValue` checks its shape.
   * @throws DamagedRow 507 when it cannot be read or has another shape
   */
  get<Value>(kind: string, id: string, now: number, isValue: (value: unknown) => value is Value): Value | undefined
  /** Resolves when it is committed; replaces what was kept under the same kind and id. */
  put(keep: KeyValueEntry): Promise<void>
}
