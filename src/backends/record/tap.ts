// Notes what a provider sends while it is passed on. Nothing is copied or parsed before the response has left.
import type { AttemptEnd, Frame } from '../../contract/core/cassette.ts'
import { TimedOut, Unreadable } from '../../contract/core/reply.ts'
import { monotonicMs } from '../../lib/monotonic.ts'
import { guarded } from '../forward/provider-response.ts'
import type { BodyObserver, Received, SentAttempt, Transport } from '../forward/transport.ts'
import type { SentRequest } from './upstream-request.ts'

/** The received part of a response. */
interface ReceivedResponse {
  status: number
  headers: Headers
  at: number
  frames: Frame[]
  omitted: number
}

/** Receives the attempts. */
export interface AttemptSink {
  /** Resolves when another attempt may be sent; undefined if at once. */
  room(): Promise<void> | undefined
  /** Called when a request is sent. */
  begun(exchange: NotedAttempt): void
  /** Called once, when its response has ended. */
  ended(exchange: NotedAttempt): void
}

/** A transport that notes what passes: of each response at most `limit` bytes. */
export function tapped(transport: Transport, sink: AttemptSink, limit: number): Transport {
  return async (url, init, attempt) => {
    const room = sink.room()
    if (room) await room
    const noted = new NotedAttempt(url, { init, attempt }, { sink, limit })
    try {
      const sent = await transport(url, init, attempt)
      noted.received(sent.status, sent.headers)
      const isPacked = sent.headers.has('content-encoding')
      const { status, headers, body } = isPacked ? readable(sent, attempt.provider) : sent
      if (isPacked) noted.received(status, headers)
      if (!body) noted.ended()
      return { status, headers, body, observer: noted }
    } catch (error) {
      noted.broken(error)
      throw error
    }
  }
}

/**
 * A response that can be recorded: decompressed, since compressed bytes may contain secrets, and cannot be reviewed.
 * Providers compress although compression is disabled in requests only if they ignore that.
 */
const readable = (received: Received, name: string): Received =>
  guarded({ name, keyOptional: true }, received, Number.POSITIVE_INFINITY)

/** An attempt as it was received, which is recorded later. */
export class NotedAttempt implements SentRequest, BodyObserver {
  readonly url: string
  readonly init: SentRequest['init']
  readonly attempt: SentRequest['attempt']
  /** Monotonic time in ms. */
  readonly started = monotonicMs()
  /** Absent while nothing was received. */
  response?: ReceivedResponse
  /** Absent while it is in progress. */
  end?: AttemptEnd
  /** Code of the connection error that ended it. */
  reason?: string
  /** Milliseconds from the request to the end. */
  endedAt = 0
  /** Bytes of the response that it holds in memory. */
  size = 0
  readonly #sink: AttemptSink
  readonly #limit: number
  /** Bytes that are still to come, if announced: readers of a whole body stop after the last one. */
  #remaining = Number.POSITIVE_INFINITY
  /** Dropped at the end, since what waits to be recorded must not keep the requests of clients in memory. */
  #signal: AbortSignal | undefined

  constructor(
    url: string,
    { init, attempt }: { init: RequestInit; attempt: SentAttempt },
    { sink, limit }: { sink: AttemptSink; limit: number },
  ) {
    const { provider, operation, model, session, signal } = attempt
    this.url = url
    this.init = { headers: init.headers, body: init.body }
    this.attempt = { provider, operation, model, session }
    this.#signal = signal
    this.#sink = sink
    this.#limit = limit
    sink.begun(this)
  }

  received(status: number, headers: Headers): void {
    this.response = { status, headers, at: this.#now(), frames: [], omitted: 0 }
    const announced = headers.get('content-length')
    this.#remaining = announced === null ? Number.POSITIVE_INFINITY : Number(announced)
  }

  /** Notes a piece; a part beyond the limit is only counted. */
  piece(bytes: Uint8Array): void {
    const { response } = this
    if (!response || this.end !== undefined) return
    const rest = Math.max(0, this.#limit - this.size)
    const kept = bytes.length <= rest ? bytes : bytes.subarray(0, rest)
    response.omitted += bytes.length - kept.length
    if (kept.length > 0) {
      this.size += kept.length
      response.frames.push({ at: this.#now(), bytes: kept })
    }
    this.#remaining -= bytes.length
    if (this.#remaining <= 0) this.ended()
  }

  ended(): void {
    this.#close('complete')
  }

  #close(end: AttemptEnd): void {
    if (this.end !== undefined) return
    this.end = end
    this.endedAt = this.#now()
    this.#signal = undefined
    this.#sink.ended(this)
  }

  /** Ends with an error. The runtime reports a closed connection and a reset one as the same error. */
  broken(error: unknown): void {
    // This server cannot read on: the compression is unknown.
    if (this.#signal?.aborted || error instanceof Unreadable) {
      this.left()
      return
    }
    const { code } = error as { code?: unknown }
    if (typeof code === 'string') this.reason = code
    this.#close(this.response ? 'cut by provider' : 'reset')
  }

  /** Ends it because nobody reads on. */
  left(): void {
    this.#close(this.#signal?.reason instanceof TimedOut ? 'timed out' : 'left by client')
  }

  #now(): number {
    return Math.round(monotonicMs() - this.started)
  }
}
