// Attempts on their way to the recording worker: as few texts and bytes, since lists are copied item by item.
import type { BegunAttempt, EndedAttempt } from '../cassettes/noted.ts'
import type { Frame, RecordedAttempt } from '../contract/core/cassette.ts'
import { type PackedTexts, packTexts, unpackTexts } from './packed-texts.ts'

/** Attempts that were sent or have ended. */
export interface AttemptBatch {
  begun: readonly BegunAttempt[]
  ended: readonly EndedAttempt[]
}

/** The same for another thread. */
export interface PackedBatch {
  /** JSON without what is below. The frames of a response are a list of times and sizes. */
  attempts: string
  /** Bodies of requests that are texts. */
  bodies: PackedTexts
  /** The bytes of all frames. */
  bytes: Uint8Array<ArrayBuffer>
}

/** Packs attempts. */
export function packBatch({ begun, ended }: AttemptBatch): PackedBatch {
  const bodies: string[] = []
  const frames: Frame[] = []
  const attempts = JSON.stringify({
    begun: begun.map(({ number, session, started, request }) => {
      const { provider, operation, model, path, headers, body } = request
      if (typeof body === 'string') bodies.push(body)
      const left = typeof body === 'string' ? '' : body
      return { number, session, started, request: { provider, operation, model, path, headers, body: left } }
    }),
    ended: ended.map(({ number, session, attempt: { response, end, endedAt, reason } }) => ({
      number,
      session,
      attempt: { response: response && withoutBytes(response, frames), end, endedAt, reason },
    })),
  })
  // A buffer of its own, since it is handed over.
  const bytes = Bun.concatArrayBuffers(
    frames.map((frame) => frame.bytes),
    Number.POSITIVE_INFINITY,
    true,
  )
  return { attempts, bodies: packTexts(bodies), bytes }
}

function withoutBytes(response: NonNullable<RecordedAttempt['response']>, all: Frame[]) {
  const { status, headers, at, omitted } = response
  const frames: number[] = []
  for (const frame of response.frames) {
    all.push(frame)
    frames.push(frame.at, frame.bytes.length)
  }
  return { status, headers, at, omitted, frames }
}

/** Unpacks them. */
export function unpackBatch({ attempts, bodies, bytes }: PackedBatch): AttemptBatch {
  const { begun, ended } = JSON.parse(attempts) as AttemptBatch
  const texts = unpackTexts(bodies).values()
  for (const { request } of begun) if (request.body === '') request.body = texts.next().value ?? ''
  let end = 0
  for (const { attempt } of ended) {
    if (!attempt.response) continue
    const places = attempt.response.frames as unknown as readonly number[]
    attempt.response.frames = Array.from({ length: places.length / 2 }, (_, index) => ({
      at: places[2 * index] ?? 0,
      bytes: bytes.subarray(end, (end += places[2 * index + 1] ?? 0)),
    }))
  }
  return { begun, ended }
}
