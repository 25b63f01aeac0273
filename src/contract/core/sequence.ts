// Sequences of fixture replies: which one is next in which conversation.

/** How much of a sequence a call used. */
export interface SequenceUse {
  /** The fixture and the conversation. */
  counter: string
  /** Replies taken so far. */
  uses: number
  /** Replies taken before this call. */
  before: number
  /** Identifies the call; null for a client's call, which is never repeated internally. */
  call: string | null
}

/** The sequences that one call uses. */
export interface CallSequences {
  /** The number of replies taken from a sequence before; takes one more. */
  next(counter: string): number
  /** What it has used, to be committed with its result. */
  readonly used: readonly SequenceUse[]
}
