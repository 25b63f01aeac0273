// Replays a recorded attempt in the place of a provider: its response with its times, and its end.
import type { RecordedAttempt } from '../../contract/core/cassette.ts'
import type { ReplaySpeed } from '../../contract/core/cassette-modes.ts'
import { realClock } from '../../lib/clock.ts'
import type { ChunkReader, Received, SentAttempt } from '../forward/transport.ts'

/** An attempt to replay, and its errors. */
interface ReplayOptions {
  recorded: RecordedAttempt
  attempt: SentAttempt
  speed: ReplaySpeed
  /** The error for a client that reads on where the recorded one left. */
  readOn(): Error
  /** The error where the recording was truncated. */
  truncated(omitted: number): Error
}

/**
 * The response of a recorded attempt.
 * @throws what the network would throw, the signal's reason, or a miss
 */
export async function replayAttempt(started: ReplayOptions): Promise<Received> {
  const { recorded, attempt } = started
  const { response } = recorded
  attempt.signal.throwIfAborted()
  const canceled = new AbortController()
  const signal = AbortSignal.any([attempt.signal, canceled.signal])
  const replay = withTimes({ ...started, attempt: { ...attempt, signal } })
  if (!response) return ended(replay, 0)
  const { status, headers, at, frames, omitted = 0 } = response
  await replay.until(at)
  const sent = new Headers()
  for (const [name, value] of headers) sent.append(name, value)
  // Redacted values may have another length.
  if (sent.has('content-length') && recorded.end === 'complete' && omitted === 0)
    sent.set('content-length', String(frames.reduce((sum, { bytes }) => sum + bytes.length, 0)))
  if (HAS_NO_BODY.includes(status)) return { status, headers: sent, body: null }
  const reader = bodyReader(replay, response, canceled)
  return { status, headers: sent, body: { getReader: () => reader, cancel: () => reader.cancel() } }
}

const HAS_NO_BODY = [204, 205, 304]

/** A replay in progress. */
type Replay = ReturnType<typeof withTimes>

/** A replay with the times of its recording, on the clock of the session. */
function withTimes(replay: ReplayOptions) {
  const { speed, attempt } = replay
  const { clock, signal } = attempt
  let begun = clock.passed()
  return {
    ...replay,
    /** Waits until a time of the recording, in ms since the request. A client that reads late has waited already. */
    async until(at: number): Promise<void> {
      if (speed === 'instant') return
      const due = Math.round(at / (speed === 'real' ? 1 : speed))
      const remaining = due - (clock.passed() - begun)
      if (remaining <= 0) return
      await clock.latency(remaining, signal)
      // A frozen clock does not show that this time has passed.
      begun = Math.min(begun, clock.passed() + 1 - due)
    },
  }
}

/** How much longer than recorded a client may take to leave: at least so many ms, or this share of the silence. */
const GRACE_MS = 1_000
const GRACE_SHARE = 0.25
/** A time limit of the gateway is the recorded one up to this difference. */
const SLACK_MS = 50

/** The end of a recorded attempt after its last piece, which arrived at `lastAt`. */
async function ended({ recorded, attempt, readOn, until }: Replay, lastAt: number): Promise<never> {
  const { end, endedAt } = recorded
  if (end !== 'timed out' && end !== 'left by client') {
    await until(endedAt)
    throw connectionError(recorded)
  }
  const silence = Math.max(0, endedAt - lastAt)
  if (end === 'timed out') {
    // The time limit of the gateway ends this. Waiting longer than the speed requires shows nothing.
    await until(endedAt)
    attempt.expire?.(silence + SLACK_MS)
  }
  await silentFor(silence + Math.max(GRACE_MS, silence * GRACE_SHARE), attempt)
  throw readOn()
}

/**
 * Silence that the client ends by leaving, at every speed: only its own time limit can do that. Rejects with the
 * signal's reason when it does; resolves after `ms` real milliseconds.
 */
async function silentFor(ms: number, { clock, signal }: SentAttempt): Promise<void> {
  const over = new AbortController()
  const either = AbortSignal.any([signal, over.signal])
  const silence = clock.latency(Number.POSITIVE_INFINITY, either).catch(() => {})
  try {
    await realClock.sleep(ms, signal)
  } finally {
    over.abort()
    await silence
  }
}

/** The error of a recorded connection, as the network throws it. */
function connectionError({ reason = 'ECONNRESET' }: RecordedAttempt): Error {
  return Object.assign(new TypeError(MESSAGES[reason] ?? reason), { code: reason })
}

const MESSAGES: Readonly<Record<string, string>> = {
  ECONNRESET: 'The socket connection was closed unexpectedly',
  ECONNREFUSED: 'Unable to connect. Is the computer able to access the url?',
}

/** Reads the body of a recorded response. After `cancel` it ends, even during a pending read. */
function bodyReader(
  replay: Replay,
  { frames, at, omitted = 0 }: NonNullable<RecordedAttempt['response']>,
  canceled: AbortController,
): ChunkReader {
  const { recorded, attempt, truncated, until } = replay
  let next = 0
  const step = async (): ReturnType<ChunkReader['read']> => {
    const frame = frames[next]
    attempt.signal.throwIfAborted()
    if (frame) {
      next++
      await until(frame.at)
      return { done: false, value: frame.bytes }
    }
    if (omitted > 0) throw truncated(omitted)
    if (recorded.end !== 'complete') return ended(replay, frames.at(-1)?.at ?? at)
    await until(recorded.endedAt)
    return { done: true }
  }
  return {
    async read() {
      try {
        return await step()
      } catch (error) {
        if (canceled.signal.aborted) return { done: true }
        throw error
      }
    },
    cancel: async () => canceled.abort(),
  }
}
