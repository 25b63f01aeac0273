// Attempts on their way to the recording worker: as few texts, since threads share a text, but copy bytes and lists item by item.
import { joinFrames } from '../cassettes/frames.ts'
import type { BegunAttempt, EndedAttempt } from '../cassettes/noted.ts'
import { bytesAsText } from '../cassettes/views.ts'
import { type PackedTexts, packTexts, unpackTexts } from './packed-texts.ts'

/** Attempts that were sent or have ended. */
export interface AttemptBatch {
  begun: readonly BegunAttempt[]
  ended: readonly EndedAttempt[]
}

/** The same for another thread. */
export interface PackedBatch {
  /** JSON without the texts below. The frames of a response are a list of times and sizes. */
  attempts: string
  /** Bodies of requests that are texts. */
  bodies: PackedTexts
  /** The bytes of all frames, one character each. */
  bytes: string
}

/** Packs attempts. */
export function packBatch({ begun, ended }: AttemptBatch): PackedBatch {
  const bodies: string[] = []
  const frames = ended.flatMap(({ attempt }) => attempt.response?.frames ?? [])
  const attempts = JSON.stringify({
    begun: begun.map(({ number, session, started, request }) => {
      const { provider, operation, model, path, headers, body } = request
      if (typeof body === 'string') bodies.push(body)
      const left = typeof body === 'string' ? '' : body
      return { number, session, started, request: { provider, operation, model, path, headers, body: left } }
    }),
    ended: ended.map((one) => {
      const { response } = one.attempt
      if (!response) return one
      const places = response.frames.flatMap(({ at, bytes }) => [at, bytes.length])
      return { ...one, attempt: { ...one.attempt, response: { ...response, frames: places } } }
    }),
  })
  return { attempts, bodies: packTexts(bodies), bytes: bytesAsText(joinFrames(frames)) }
}

/** Unpacks them. */
export function unpackBatch({ attempts, bodies, bytes }: PackedBatch): AttemptBatch {
  const { begun, ended } = JSON.parse(attempts) as AttemptBatch
  const texts = unpackTexts(bodies).values()
  for (const { request } of begun) if (request.body === '') request.body = texts.next().value ?? ''
  const all = new Uint8Array(Buffer.from(bytes, 'latin1'))
  let end = 0
  for (const { attempt } of ended) {
    if (!attempt.response) continue
    const places = attempt.response.frames as unknown as readonly number[]
    attempt.response.frames = Array.from({ length: places.length / 2 }, (_, index) => ({
      at: places[2 * index] ?? 0,
      bytes: all.subarray(end, (end += places[2 * index + 1] ?? 0)),
    }))
  }
  return { begun, ended }
}
