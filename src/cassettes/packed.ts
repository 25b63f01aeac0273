// Attempts as they are sent to another thread: the bytes of all frames as one array, since a message copies each array with what it is a
// part of.
import type { RecordedAttempt } from '../contract/core/cassette.ts'

/** An attempt whose frames are apart from it. */
export interface PackedAttempt {
  attempt: RecordedAttempt
  /** The bytes of all frames. */
  bytes: Uint8Array
  /** For each frame its length, and its time in ms. */
  lengths: Uint32Array
  times: Float64Array
}

/** Packs an attempt. */
export function packAttempt(attempt: RecordedAttempt): PackedAttempt {
  const { response } = attempt
  const frames = response?.frames ?? []
  return {
    attempt: response ? { ...attempt, response: { ...response, frames: [] } } : attempt,
    bytes: Buffer.concat(frames.map(({ bytes }) => bytes)),
    lengths: Uint32Array.from(frames, ({ bytes }) => bytes.length),
    times: Float64Array.from(frames, ({ at }) => at),
  }
}

/** Unpacks it. */
export function unpackAttempt({ attempt, bytes, lengths, times }: PackedAttempt): RecordedAttempt {
  const { response } = attempt
  if (!response) return attempt
  let end = 0
  const frames = Array.from(lengths, (length, index) => ({
    at: times[index] ?? 0,
    bytes: bytes.subarray(end, (end += length)),
  }))
  return { ...attempt, response: { ...response, frames } }
}
