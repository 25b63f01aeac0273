// Records what providers send: notes attempts, and hands them to a worker, which redacts them and writes the cassettes.
import { existsSync } from 'node:fs'
import { recordedHeaders } from '../../cassettes/headers.ts'
import { besideFile, cassetteFile } from '../../cassettes/names.ts'
import type { BegunAttempt, EndedAttempt } from '../../cassettes/noted.ts'
import type { Redactor, RedactorChange } from '../../cassettes/redact.ts'
import type { NewRecording, RecordedSession, RunEnd } from '../../cassettes/session-recording.ts'
import { type NewHeader, problemLine } from '../../cassettes/write.ts'
import type { Interaction, RecordedAttempt } from '../../contract/core/cassette.ts'
import { realClock } from '../../lib/clock.ts'
import { monotonicMs } from '../../lib/monotonic.ts'
import {
  type RecordingReport,
  type RecordingRequest,
  type RecordingWorker,
  recordingWorker,
} from '../../workers/recording.ts'
import { packBatch } from '../../workers/recording-batch.ts'
import type { Transport } from '../forward/transport.ts'
import { Backlog, type BacklogSize } from './backlog.ts'
import { type AttemptSink, type NotedAttempt, tapped } from './tap.ts'
import { notedRequest } from './upstream-request.ts'

/** How is recorded. */
interface RecorderOptions {
  folder: string
  /** The header of a new cassette with this name. */
  header(cassette: string): NewHeader
  /** The redactor of a session in this thread, always the same one. It learns what is redacted in the cassette. */
  redactorOf(session: string): Redactor
  /** Name of the cassette of a session. */
  cassetteOf(session: string): string
  /** The first session with the same cassette: what others do is recorded in it. */
  firstWithCassetteOf(session: string): string
  /** Maximum size of a recorded response in bytes. */
  limit: number
  /** Interactions of an earlier recording that the new ones follow. */
  earlier?(session: string): readonly Interaction[]
  /** What the redactor of a session has learned from calls that are not recorded. */
  learned?(session: string): readonly RedactorChange[] | undefined
  /** Receives a line about a cassette that cannot be written. */
  report(line: string): void
}

/** Attempts that have ended are packed so many ms later, together. */
const BATCH_MS = 20
/**
 * They are handed over when nothing has begun or ended for as long, and after so many ms in any case. At full load, the worker would take time
 * from calls.
 */
const MAX_HELD_MS = 5_000
/** So many ms an attempt waits for those that were sent before it: the order of placeholders and of the file is that of sending. */
const MAX_WAIT_MS = 1_000
/** Responses and their bytes that may wait to be written. With more, further attempts wait; with half of it, they are handed over. */
const MAX_WAITING = { count: 50_000, bytes: 64 * 2 ** 20 }

/** A session that is recorded. */
interface Session {
  recorded: RecordedSession
  /** Attempts that are not handed over, in the order in which they were sent; with a number, the worker knows that they were sent. */
  readonly attempts: Map<NotedAttempt, number | undefined>
  isOpened: boolean
}

/** Attempts that are packed for the worker. */
interface Batch {
  request: RecordingRequest
  size: BacklogSize
}

/** Why nothing more is recorded, and whether the cassettes are complete. */
interface RecordingEnd {
  isComplete: boolean
  reason: string
}

/** Records what providers send. */
export class Recorder implements AttemptSink {
  readonly #options: RecorderOptions
  readonly #sessions = new Map<string, Session>()
  /** Sessions with attempts that are not handed over. */
  readonly #active = new Set<Session>()
  #number = 0
  #worker: RecordingWorker | undefined
  #finished: PromiseWithResolvers<void> | undefined
  /** Why nothing more is recorded. */
  #end: RecordingEnd | undefined
  #isEnding = false
  #isScheduled = false
  /** How many attempts have begun or ended since the last batch was packed. */
  #events = 0
  /** Batches that wait for a pause, and since when. */
  #held: Batch[] = []
  #heldSince = 0
  #sending = Promise.resolve()
  /** What has ended and is not written: in all, and by request to the worker. */
  readonly #backlog = new Backlog(MAX_WAITING)
  readonly #requested: BacklogSize[] = []

  constructor(options: RecorderOptions) {
    this.#options = options
  }

  /** A transport that records. */
  recording(transport: Transport): Transport {
    return tapped(transport, this, this.#options.limit)
  }

  /** What was recorded so far. */
  recorded(): RecordedSession[] {
    return [...this.#sessions.values()].map(({ recorded }) => recorded)
  }

  room(): Promise<void> | undefined {
    return this.#backlog.room()
  }

  begun(attempt: NotedAttempt): void {
    const session = this.#sessionOf(attempt)
    session.attempts.set(attempt, undefined)
    this.#active.add(session)
    this.#events++
  }

  ended(attempt: NotedAttempt): void {
    if (this.#end) {
      this.#sessionOf(attempt).attempts.delete(attempt)
      this.#lose(this.#sessionOf(attempt), this.#end)
      return
    }
    this.#backlog.add({ count: 1, bytes: sizeOf(attempt) })
    this.#events++
    this.#schedule()
  }

  /**
   * Records what is in progress as left by its client, and writes everything.
   * @param end how the run ended, if badly: older cassettes then stay in place, and those of an interrupted run incomplete
   * @param notSent sessions of which calls were not sent: their older cassettes stay in place
   */
  async finish(end?: RunEnd, notSent: readonly string[] = []): Promise<void> {
    this.#isEnding = true
    for (const { attempts } of this.#active) for (const attempt of attempts.keys()) attempt.left()
    await this.#send()
    this.#release()
    if (this.#worker) {
      this.#finished = Promise.withResolvers()
      this.#worker.hold()
      const sessions = notSent.map(this.#options.firstWithCassetteOf)
      this.#request({ type: 'finish', end, notSent: sessions }, { count: 0, bytes: 0 })
      await this.#finished.promise
    }
    this.#stop({ isComplete: true, reason: 'an attempt came after its end' })
  }

  #sessionOf({ attempt }: NotedAttempt): Session {
    const session = this.#options.firstWithCassetteOf(attempt.session)
    return this.#sessions.getOrInsertComputed(session, () => {
      const { folder, cassetteOf } = this.#options
      const file = cassetteFile(folder, cassetteOf(session))
      const recorded = { session, file, interactions: 0, attempts: 0, omitted: 0, problem: null }
      return { recorded, attempts: new Map(), isOpened: false }
    })
  }

  #schedule(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    void realClock.sleep(BATCH_MS).then(() => {
      this.#isScheduled = false
      return this.#send()
    })
  }

  #send(): Promise<void> {
    this.#sending = this.#sending
      .then(() => this.#pack())
      .then(() => this.#releaseIfDue())
      .catch(({ message }: Error) => this.#stop({ isComplete: false, reason: message }))
    return this.#sending
  }

  /** Packs the attempts whose turn it is. */
  async #pack(): Promise<void> {
    const begun: BegunAttempt[] = []
    const forms: Promise<unknown>[] = []
    const ended: EndedAttempt[] = []
    const opened: NewRecording[] = []
    const learned: [string, readonly RedactorChange[]][] = []
    const now = monotonicMs()
    let bytes = 0
    for (const one of this.#active) {
      const { session } = one.recorded
      let isPreceded = false
      for (const [attempt, known] of one.attempts) {
        const number = known ?? this.#number++
        if (known === undefined) {
          const { started } = attempt
          const request = notedRequest(attempt)
          one.attempts.set(attempt, number)
          if (request instanceof Promise)
            forms.push(request.then((form) => begun.push({ number, session, started, request: form })))
          else begun.push({ number, session, started, request })
        }
        const mayWait = !this.#isEnding && now - attempt.started - attempt.endedAt < MAX_WAIT_MS
        if (attempt.end === undefined) isPreceded = true
        else if (isPreceded && mayWait) this.#schedule()
        else {
          one.attempts.delete(attempt)
          ended.push({ number, session, attempt: recordedAttempt(attempt) })
          bytes += sizeOf(attempt)
        }
      }
      if (!one.isOpened) opened.push(this.#newRecording(session))
      one.isOpened = true
      const changes = this.#options.learned?.(session)
      if (changes) learned.push([session, changes])
      if (one.attempts.size === 0) this.#active.delete(one)
    }
    await Promise.all(forms)
    if (begun.length + ended.length === 0) return
    begun.sort((one, other) => one.number - other.number)
    const batch = packBatch({ begun, ended })
    if (this.#held.length === 0) this.#heldSince = now
    this.#held.push({ request: { type: 'record', opened, learned, batch }, size: { count: ended.length, bytes } })
  }

  /** Hands over what is packed, in a pause or when it has waited for long. */
  #releaseIfDue(): void {
    const isPause = this.#events === 0
    this.#events = 0
    if (this.#held.length === 0) return
    if (isPause || this.#backlog.isHalfFull || monotonicMs() - this.#heldSince >= MAX_HELD_MS) this.#release()
    else this.#schedule()
  }

  #release(): void {
    for (const { request, size } of this.#held.splice(0)) this.#request(request, size)
  }

  #newRecording(session: string): NewRecording {
    const { folder, header, cassetteOf, redactorOf, earlier } = this.#options
    const redaction = redactorOf(session).portable.options
    return { session, folder, header: header(cassetteOf(session)), redaction, earlier: earlier?.(session) ?? [] }
  }

  #request(request: RecordingRequest, size: BacklogSize): void {
    if (this.#end) return
    this.#worker ??= recordingWorker({
      received: (report) => this.#received(report),
      died: (reason) => this.#stop({ isComplete: false, reason }),
    })
    this.#requested.push(size)
    this.#worker.send(request)
  }

  #received({ sessions, lines }: RecordingReport): void {
    for (const { recorded, found } of sessions) {
      const session = this.#sessions.get(recorded.session)
      if (session) session.recorded = recorded
      if (found.length > 0) this.#options.redactorOf(recorded.session).learn(found)
    }
    for (const line of lines) this.#options.report(line)
    const written = this.#requested.shift()
    if (written) this.#backlog.remove(written)
    if (this.#finished && this.#requested.length === 0) this.#finished.resolve()
  }

  /** Nothing more is recorded. */
  #stop(end: RecordingEnd): void {
    this.#end = end
    this.#worker?.end()
    this.#worker = undefined
    this.#held = []
    this.#backlog.clear()
    this.#finished?.resolve()
    if (!end.isComplete) for (const session of this.#sessions.values()) this.#lose(session, end)
  }

  /** Notes that a cassette lacks something, and says so once. */
  #lose({ recorded }: Session, { isComplete, reason }: RecordingEnd): void {
    if (recorded.problem !== null) return
    const { session, file } = recorded
    const draft = besideFile(file, 'incomplete')
    recorded.problem = problemLine(session, { file: existsSync(draft) ? draft : file, isComplete, reason })
    this.#options.report(recorded.problem)
  }
}

/** About how many bytes of an attempt are in memory. */
const sizeOf = ({ size, init: { body } }: NotedAttempt): number =>
  size + (typeof body === 'string' || body instanceof Uint8Array ? body.length : 0)

/** What is recorded of an attempt that has ended. */
function recordedAttempt(noted: NotedAttempt): RecordedAttempt {
  const { response, end = 'left by client', endedAt, reason } = noted
  const about = { end, endedAt, ...(reason !== undefined && reason !== 'ECONNRESET' && { reason }) }
  if (!response) return about
  const { status, at, frames, omitted } = response
  const all: [string, string][] = []
  // Takes half as long as their iterator.
  response.headers.forEach((value, name) => {
    all.push([name, value])
  })
  const headers = recordedHeaders(noted.attempt.provider, all)
  return { response: { status, headers, at, frames, ...(omitted > 0 && { omitted }) }, ...about }
}
