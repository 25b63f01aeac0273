// Successive replies of fixtures: which of them comes next in which conversation.

/** How far a sequence was used by a call. */
export interface SequenceUse {
  /** The fixture and the conversation. */
  counter: string
  /** How many replies were taken so far. */
  uses: number
  /** How many of them before this call. */
  before: number
  /** What tells the call from all others; null for a client's, which is never made again by us. */
  call: string | null
}

/** The sequences that one call uses. */
export interface CallSequences {
  /** How many replies of a sequence were taken before; takes one more. */
  next(counter: string): number
  /** What it has used, to be committed with its result. */
  readonly used: readonly SequenceUse[]
}

/** How far all sequences of a session were used; a sequence that begins with 0 was never used. */
export interface Sequences {
  /** A call begins. One of the same `call` that was committed before, by a process that was killed then, takes the same replies again. */
  begin(call?: string): CallSequences
  /** Commits what a call has used; resolves when that is done. */
  put(used: readonly SequenceUse[]): Promise<void>
  /** The same inside a transaction. */
  write(used: readonly SequenceUse[]): void
}
