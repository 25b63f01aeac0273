// Writes what providers have sent into cassettes, one per session. Redaction and writing wait until no response is on its
// way, so that they slow down none; what is large is redacted in a worker.

import { recordedHeaders } from '../../cassettes/headers.ts'
import type { Redactor } from '../../cassettes/redact.ts'
import { type CassetteWriter, type NewHeader, openCassette } from '../../cassettes/write.ts'
import type { Interaction, RecordedAttempt, UpstreamRequest, VolatileRule } from '../../contract/core/cassette.ts'
import { cassetteKey } from '../../contract/core/cassette-key.ts'
import { andThen } from '../../lib/and-then.ts'
import { nextTurn } from '../../lib/bare-socket.ts'
import { realClock } from '../../lib/clock.ts'
import { monotonicMs } from '../../lib/monotonic.ts'
import { composeDocument, MAX_REDACTED_AT_ONCE, redactAttempt, redactRequest } from '../../workers/redaction.ts'
import type { Transport } from '../forward/transport.ts'
import { type NotedAttempt, tapped } from './tap.ts'
import { conversationTurn, upstreamRequest } from './upstream-request.ts'

/** How is recorded. */
export interface RecorderOptions {
  folder: string
  /** The header of a new cassette with this name. */
  header(cassette: string): NewHeader
  rules: readonly VolatileRule[]
  /** The redactor of a session, always the same one. */
  redactorOf(session: string): Redactor
  /** Name of the cassette of a session. */
  cassetteOf(session: string): string
  /** Maximum size of a recorded response in bytes. */
  limit: number
  /** Interactions of an earlier recording that the new ones follow. */
  earlier?(session: string): readonly Interaction[]
  /** Receives a line about a cassette that cannot be written. */
  report(line: string): void
}

/** What was recorded in a session. */
export interface RecordedSession {
  session: string
  file: string
  interactions: number
  attempts: number
  /** Bytes that were passed on but not recorded. */
  omitted: number
  /** Why the cassette is incomplete. */
  problem: string | null
}

/** How a run ended badly: its command failed, or was stopped before its end. */
export type RunEnd = 'failed' | 'interrupted'

/** Records what providers send. */
export interface Recorder {
  /** A transport that records. */
  recording(transport: Transport): Transport
  /** What was recorded so far. */
  recorded(): RecordedSession[]
  /**
   * Records what is in progress as left by its client, and writes everything.
   * @param end how the run ended, if badly: older cassettes then stay in place, and those of an interrupted run incomplete
   */
  finish(end?: RunEnd): Promise<void>
}

/** After so many ms without a call, what waits is redacted and written. */
const PAUSE_MS = 20
/** Without such a pause, everything is after so many ms: a server that is killed loses what waits. */
const MAX_WAIT_MS = 1_000
/** So many ms are used at a time, and what was recorded in them is one write. */
const SLICE_MS = 2
/** Responses and their bytes that may wait for redaction and writing; with more, they no longer wait for a pause. */
const MAX_WAITING = { count: 10_000, bytes: 64 * 2 ** 20 }

/** Creates a recorder. */
export function createRecorder(options: RecorderOptions): Recorder {
  const { limit } = options
  const sessions = new Map<string, SessionRecording>()
  const waiting = new WaitingAttempts()
  const open = new Set<NotedAttempt>()
  /** When an attempt last ended, as a monotonic time. */
  let lastEnded = 0
  let draining: Promise<void> | undefined
  let isEnding = false
  const sessionOf = (name: string) => sessions.getOrInsertComputed(name, () => new SessionRecording(name, options))
  const isFull = () => waiting.count > MAX_WAITING.count || waiting.bytes > MAX_WAITING.bytes
  const mayDrain = () => {
    const now = monotonicMs()
    // A busy server has no attempt in progress for a moment between two calls.
    const isPause = open.size === 0 && now - lastEnded >= PAUSE_MS
    return waiting.count > 0 && (isEnding || isPause || isFull() || now - waiting.since >= MAX_WAIT_MS)
  }
  const drain = async () => {
    await nextTurn()
    // Calls that have begun meanwhile go first.
    while (mayDrain()) {
      const until = monotonicMs() + SLICE_MS
      const recorded = new Set<SessionRecording>()
      do {
        const exchange = waiting.take()
        if (!exchange) break
        const session = sessionOf(exchange.attempt.session)
        recorded.add(session)
        const unfinished = session.record(exchange)
        if (unfinished) await unfinished
      } while (monotonicMs() < until)
      for (const session of recorded) await session.write()
      await nextTurn()
    }
  }
  const startDraining = () => {
    draining ??= drain().finally(() => {
      draining = undefined
      scheduleDrain()
    })
    return draining
  }
  let scheduled = false
  const scheduleDrain = () => {
    if (scheduled || waiting.count === 0) return
    scheduled = true
    void realClock.sleep(PAUSE_MS).then(() => {
      scheduled = false
      if (mayDrain()) void startDraining()
      else scheduleDrain()
    })
  }
  const sink = {
    begun(exchange: NotedAttempt) {
      open.add(exchange)
      sessionOf(exchange.attempt.session).begun(exchange)
    },
    ended(exchange: NotedAttempt) {
      open.delete(exchange)
      waiting.add(exchange)
      lastEnded = exchange.started + exchange.endedAt
      if (isFull()) void startDraining()
      else scheduleDrain()
    },
  }
  return {
    recording: (transport) => tapped(transport, sink, limit),
    recorded: () => [...sessions.values()].map((session) => session.recorded()),
    async finish(end) {
      isEnding = true
      for (const exchange of open) exchange.left()
      while (waiting.count > 0 || draining) await startDraining()
      await Promise.all([...sessions.values()].map((session) => session.finish(end)))
    },
  }
}

/** Attempts that wait, in the order in which they were sent, which is that of placeholders and of the file. */
class WaitingAttempts {
  readonly #all: NotedAttempt[] = []
  /** Bytes of their responses. */
  bytes = 0
  /** When the first one came after there was none, as a monotonic time. */
  since = 0

  get count(): number {
    return this.#all.length
  }

  add(exchange: NotedAttempt): void {
    if (this.#all.length === 0) this.since = exchange.started + exchange.endedAt
    const after = this.#all.findLastIndex(({ started }) => started <= exchange.started)
    this.#all.splice(after + 1, 0, exchange)
    this.bytes += exchange.size
  }

  take(): NotedAttempt | undefined {
    const exchange = this.#all.shift()
    this.bytes -= exchange?.size ?? 0
    return exchange
  }
}

/** A request as it is recorded, and its key. */
interface Identified {
  request: UpstreamRequest
  key: string
}

/** An attempt that waits for one with the same key, which was sent earlier and is still in progress. */
interface Held extends Identified {
  exchange: NotedAttempt
  attempt: RecordedAttempt
}

/** An interaction that further attempts may follow. */
interface Pending {
  interaction: Interaction & { attempts: RecordedAttempt[] }
  /** When its last attempt ended, as a monotonic time. */
  ended: number
}

/** Interactions that may wait for a retry of their last attempt. */
const MAX_PENDING = 16

/** The recording of one session. */
class SessionRecording {
  readonly #name: string
  readonly #options: RecorderOptions
  /** Attempts that are in progress or wait for redaction, in the order in which they were sent. */
  readonly #unprocessed = new Set<NotedAttempt>()
  /** Those of attempts that others wait for. */
  readonly #identified = new WeakMap<NotedAttempt, Identified | Promise<Identified>>()
  #held: Held[] = []
  readonly #pending = new Map<string, Pending>()
  /** Interactions that are not written yet. */
  readonly #whole: Interaction[] = []
  #writer: CassetteWriter | undefined
  #interactions = 0
  #attempts = 0
  #omitted = 0
  #problem: string | null = null

  constructor(name: string, options: RecorderOptions) {
    this.#name = name
    this.#options = options
  }

  begun(exchange: NotedAttempt): void {
    this.#unprocessed.add(exchange)
  }

  /**
   * Records an attempt that has ended: most at once, those with large texts or files later. What cannot be redacted is not written, and the
   * cassette stays incomplete.
   */
  record(exchange: NotedAttempt): Promise<void> | undefined {
    // What is large takes long.
    if (exchange.size + bodySize(exchange) > MAX_REDACTED_AT_ONCE && this.#whole.length > 0)
      return this.write().then(() => this.record(exchange))
    try {
      return this.#add(exchange)?.catch((error: Error) => this.#giveUp(exchange, error))
    } catch (error) {
      return this.#giveUp(exchange, error as Error)
    }
  }

  async #giveUp(exchange: NotedAttempt, { message }: Error): Promise<void> {
    this.#unprocessed.delete(exchange)
    await this.write()
    await this.#open().fail(new Error(`a response cannot be recorded: ${message}`))
  }

  #add(exchange: NotedAttempt): Promise<void> | undefined {
    // Before the first value has a number.
    this.#open()
    return andThen(this.#identify(exchange), (identified) =>
      andThen(redactAttempt(this.#redactor, attemptOf(exchange)), (attempt) =>
        this.#hold({ ...identified, exchange, attempt }),
      ),
    )
  }

  /** Places an attempt unless it must wait, and those that waited for it. */
  #hold(one: Held): Promise<void> | undefined {
    const { exchange } = one
    this.#unprocessed.delete(exchange)
    if (this.#held.length > 0 || this.#hasEarlier(exchange)) return this.#placeInOrder([...this.#held, one])
    this.#place(one)
    return undefined
  }

  async #placeInOrder(all: Held[]): Promise<void> {
    this.#held = []
    for (const one of all.sort((one, other) => one.exchange.started - other.exchange.started)) {
      if (await this.#isPreceded(one)) this.#held.push(one)
      else this.#place(one)
    }
  }

  recorded(): RecordedSession {
    return {
      session: this.#name,
      file: this.#open().file,
      interactions: this.#interactions + this.#pending.size,
      attempts: this.#attempts,
      omitted: this.#omitted,
      problem: this.#problem,
    }
  }

  /** Writes the interactions that are whole. */
  async write(): Promise<void> {
    if (this.#whole.length > 0) await this.#open().append(...this.#whole.splice(0))
  }

  async finish(end: RunEnd | undefined): Promise<void> {
    for (const key of [...this.#pending.keys()]) this.#flush(key)
    await this.write()
    if (end === 'interrupted') {
      this.#problem ??= 'the run was interrupted, so the cassette stays incomplete'
      return
    }
    const writer = this.#open()
    await writer.finish(end === 'failed')
    const { beside, file } = writer
    if (beside)
      this.#problem ??= `the command failed, so ${file} stays as it was; to replay the new recording, rename ${beside}`
  }

  get #redactor(): Redactor {
    return this.#options.redactorOf(this.#name)
  }

  #identify(exchange: NotedAttempt): Identified | Promise<Identified> {
    return (
      this.#identified.get(exchange) ??
      andThen(upstreamRequest(exchange), (original) =>
        andThen(redactRequest(this.#redactor, original, bodySize(exchange)), (request) => ({
          request,
          key: cassetteKey(request, this.#options.rules),
        })),
      )
    )
  }

  /** Whether an attempt was sent earlier and is not processed yet. */
  #hasEarlier({ started }: NotedAttempt): boolean {
    // They are in their order.
    for (const earlier of this.#unprocessed) return earlier.started < started
    return false
  }

  /** Whether an attempt with the same key was sent earlier and is not processed yet. */
  async #isPreceded({ exchange, key }: Held): Promise<boolean> {
    for (const earlier of this.#unprocessed) {
      if (earlier.started >= exchange.started) return false
      const identified = this.#identify(earlier)
      this.#identified.set(earlier, identified)
      if ((await identified).key === key) return true
    }
    return false
  }

  /** Adds an attempt to the interaction that it repeats, or begins one. */
  #place({ key, request, exchange, attempt }: Held): void {
    const { started, endedAt } = exchange
    this.#attempts++
    this.#omitted += attempt.response?.omitted ?? 0
    let pending = this.#pending.get(key)
    if (pending && pending.ended > started) {
      this.#flush(key)
      pending = undefined
    }
    if (!pending && !mayBeRetried(attempt)) {
      this.#end({ started, turn: conversationTurn(request), request, attempts: [attempt] })
      return
    }
    if (pending) pending.interaction.attempts.push(attempt)
    else pending = { interaction: { started, turn: conversationTurn(request), request, attempts: [attempt] }, ended: 0 }
    pending.ended = started + endedAt
    this.#pending.set(key, pending)
    if (!mayBeRetried(attempt)) this.#flush(key)
    if (this.#pending.size <= MAX_PENDING) return
    const [oldest] = this.#pending.keys()
    if (oldest !== undefined) this.#flush(oldest)
  }

  /** Ends the interaction with a key: no other attempt follows. */
  #flush(key: string): void {
    const pending = this.#pending.get(key)
    if (!pending) return
    this.#pending.delete(key)
    this.#end(pending.interaction)
  }

  #end(interaction: Interaction): void {
    this.#interactions++
    this.#whole.push(interaction)
  }

  /** The writer of its cassette, which keeps the interactions of an earlier recording that it continues. */
  #open(): CassetteWriter {
    if (this.#writer) return this.#writer
    const { folder, header, cassetteOf, earlier, report } = this.#options
    const writer = openCassette(folder, header(cassetteOf(this.#name)), {
      report: (problem) => {
        this.#problem = problem
        report(problem)
      },
      documentOf: composeDocument,
    })
    this.#writer = writer
    for (const interaction of earlier?.(this.#name) ?? []) {
      this.#redactor.reserve(interaction)
      void writer.append(interaction)
    }
    return writer
  }
}

/** Bytes or characters of the body of a request. Those of a form are not counted: files are recorded by their checksums. */
const bodySize = ({ init: { body } }: NotedAttempt): number =>
  typeof body === 'string' || body instanceof Uint8Array ? body.length : 0

/** Statuses after which clients and gateways try again. */
const mayBeRetried = ({ end, response }: RecordedAttempt): boolean =>
  end !== 'complete' ||
  !response ||
  response.status === 408 ||
  response.status === 409 ||
  response.status === 429 ||
  response.status >= 500

function attemptOf(exchange: NotedAttempt): RecordedAttempt {
  const { response, end = 'left by client', endedAt, reason } = exchange
  const about = { end, endedAt, ...(reason !== undefined && reason !== 'ECONNRESET' && { reason }) }
  if (!response) return about
  const { status, at, frames, omitted } = response
  const headers = recordedHeaders(exchange.attempt.provider, response.headers)
  return { response: { status, headers, at, frames, ...(omitted > 0 && { omitted }) }, ...about }
}
