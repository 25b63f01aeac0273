// Attempts as they are sent to another thread: threads share a text, but copy bytes and lists, which stops both for 10 ms a MB.
import type { Frame, RecordedAttempt } from '../contract/core/cassette.ts'
import { joinFrames } from './frames.ts'
import { bytesAsText } from './views.ts'

/** An attempt whose frames are apart from it. */
export interface PackedAttempt {
  attempt: RecordedAttempt
  /** The bytes of all frames, one character each. */
  bytes: string
  /** The length of each frame and its time in ms, separated by commas. */
  frames: string
}

/** The packed forms of attempts that came from another thread. */
const packedForms = new WeakMap<RecordedAttempt, PackedAttempt>()

/** Packs an attempt, unless it was unpacked. */
export function packAttempt(attempt: RecordedAttempt): PackedAttempt {
  const { response } = attempt
  const packed = packedForms.get(attempt)
  if (packed || !response) return packed ?? { attempt, bytes: '', frames: '' }
  const { frames } = response
  return {
    attempt: { ...attempt, response: { ...response, frames: [] } },
    bytes: bytesAsText(joinFrames(frames)),
    frames: frames.map(({ bytes, at }) => `${bytes.length},${at}`).join(),
  }
}

/** Unpacks an attempt, its frames when somebody looks at them. */
export function unpackAttempt(packed: PackedAttempt): RecordedAttempt {
  const { attempt } = packed
  if (!attempt.response) return attempt
  let frames: readonly Frame[] | undefined
  const response = { ...attempt.response }
  Object.defineProperty(response, 'frames', { enumerable: true, get: () => (frames ??= framesOf(packed)) })
  const unpacked = { ...attempt, response }
  packedForms.set(unpacked, packed)
  return unpacked
}

/** The size of the bytes of an attempt. */
export const attemptSize = (attempt: RecordedAttempt): number =>
  packedForms.get(attempt)?.bytes.length ??
  attempt.response?.frames.reduce((size, { bytes }) => size + bytes.length, 0) ??
  0

function framesOf({ bytes, frames }: PackedAttempt): Frame[] {
  if (frames === '') return []
  const all = new Uint8Array(Buffer.from(bytes, 'latin1'))
  const numbers = frames.split(',').map(Number)
  let end = 0
  return Array.from({ length: numbers.length / 2 }, (_, index) => ({
    at: numbers[2 * index + 1] ?? 0,
    bytes: all.subarray(end, (end += numbers[2 * index] ?? 0)),
  }))
}
