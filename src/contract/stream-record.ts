// What is kept of a stream beside its trace: when its events went out, and those of them that nothing else says.

/** What was sent of a stream. */
export interface StreamRecord {
  /** Events that belong to the answer, and the characters of their data: a stream that is made again is known by them. */
  events: number
  characters: number
  /** In pairs: the number of an event, and the ms from the start of the call at which it and those behind it went out. */
  times: readonly number[]
  /** The events as they were on the wire, each as what differs from the one before; absent where the answer says them. */
  blocks?: readonly (string | number)[] | undefined
}

/** In place of a time: from this event on, none was kept. */
export const NO_TIME = -1
