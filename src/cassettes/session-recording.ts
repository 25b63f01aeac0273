// Records the attempts of one session: redacts them, joins retries to interactions, and writes those that are whole.
import type { Interaction, RecordedAttempt, UpstreamRequest } from '../contract/core/cassette.ts'
import { cassetteKey } from '../contract/core/cassette-key.ts'
import { type BegunAttempt, conversationTurn, type EndedAttempt, requestOf } from './noted.ts'
import { createRedactor, type Redactor, type RedactorChange, type RedactorOptions } from './redact.ts'
import { CassetteWriter, type NewHeader } from './write.ts'

/** A session that is recorded from now on. */
export interface NewRecording {
  session: string
  folder: string
  header: NewHeader
  redaction: RedactorOptions
  /** Interactions of an earlier recording that the new ones follow. */
  earlier: readonly Interaction[]
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

/** How a run ended badly: its command failed, or was stopped before its end, or calls of the session were not sent. */
export type RunEnd = 'failed' | 'interrupted' | 'not sent'

/** A request as it is recorded, and its key. */
interface Identified {
  request: UpstreamRequest
  key: string
}

/** An attempt that is in progress, identified once others wait for it. */
type OpenAttempt = BegunAttempt & { identified?: Identified }

/** An attempt that waits for one with the same key, which was sent earlier and is still in progress. */
interface Held extends Identified {
  started: number
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
export class SessionRecording {
  readonly #session: string
  readonly #header: NewHeader
  readonly #redactor: Redactor
  readonly #writer: CassetteWriter
  /** Attempts that are in progress, in the order in which they were sent. */
  readonly #open = new Map<number, OpenAttempt>()
  #held: Held[] = []
  readonly #pending = new Map<string, Pending>()
  /** Interactions that are not written yet. */
  readonly #whole: Interaction[] = []
  #found: RedactorChange[] = []
  #unrecorded: Error | undefined
  #interactions = 0
  #attempts = 0
  #omitted = 0
  #problem: string | null = null

  /** @param learned what the other redactors of the session know */
  constructor(
    { session, folder, header, redaction, earlier }: NewRecording,
    learned: readonly RedactorChange[],
    report: (line: string) => void,
  ) {
    this.#session = session
    this.#header = header
    this.#redactor = createRedactor(redaction, { found: (change) => this.#found.push(change) })
    this.#writer = new CassetteWriter(folder, header, {
      report: (problem) => {
        this.#problem = problem
        report(problem)
      },
    })
    this.learn(learned)
    for (const interaction of earlier) this.#redactor.reserve(interaction)
    this.#whole.push(...earlier)
  }

  /** Takes what other redactors of the session have learned. */
  learn(changes: readonly RedactorChange[]): void {
    this.#redactor.learn(changes)
  }

  /** An attempt was sent. */
  begun(attempt: BegunAttempt): void {
    this.#open.set(attempt.number, attempt)
  }

  /** Records an attempt that has ended. What cannot be redacted is not written, and the cassette stays incomplete. */
  ended({ number, attempt }: EndedAttempt): void {
    const open = this.#open.get(number)
    if (!open) throw new Error('an attempt has ended that was not sent')
    try {
      const one = { ...this.#identify(open), started: open.started, attempt: this.#redactor.attempt(attempt) }
      this.#open.delete(number)
      const isNext = this.#held.length === 0 && !this.#hasEarlier(one)
      if (isNext) this.#place(one)
      else this.#placeInOrder([...this.#held, one])
    } catch (error) {
      this.#open.delete(number)
      this.#unrecorded ??= error as Error
    }
  }

  /** What was redacted since the last call. */
  takeFound(): RedactorChange[] {
    const found = this.#found
    if (found.length > 0) this.#found = []
    return found
  }

  /** What was recorded so far. */
  recorded(): RecordedSession {
    return {
      session: this.#session,
      file: this.#writer.file,
      interactions: this.#interactions + this.#pending.size,
      attempts: this.#attempts,
      omitted: this.#omitted,
      problem: this.#problem,
    }
  }

  /** Writes the interactions that are whole. */
  async write(): Promise<void> {
    if (this.#whole.length > 0) await this.#writer.append(...this.#whole.splice(0))
    if (this.#unrecorded)
      await this.#writer.fail(new Error(`a response cannot be recorded: ${this.#unrecorded.message}`))
  }

  /** Ends the recording. */
  async finish(end: RunEnd | undefined): Promise<void> {
    for (const key of [...this.#pending.keys()]) this.#flush(key)
    await this.write()
    if (end === 'interrupted') {
      this.#problem ??= 'the run was interrupted, so the cassette stays incomplete'
      return
    }
    await this.#writer.finish(end !== undefined)
    const { beside, file } = this.#writer
    const why = end === 'not sent' ? 'calls were not sent' : 'the command failed'
    if (beside) this.#problem ??= `${why}, so ${file} stays as it was; to replay the new recording, rename ${beside}`
  }

  #identify(open: OpenAttempt): Identified {
    if (open.identified) return open.identified
    const request = this.#redactor.request(requestOf(open.request))
    return { request, key: cassetteKey(request, this.#header.volatile) }
  }

  /** Whether an attempt was sent earlier and is still in progress. */
  #hasEarlier({ started }: Held): boolean {
    // They are in their order.
    for (const earlier of this.#open.values()) return earlier.started < started
    return false
  }

  /** Places attempts unless they must wait. */
  #placeInOrder(all: Held[]): void {
    this.#held = []
    for (const one of all.sort((one, other) => one.started - other.started)) {
      if (this.#isPreceded(one)) this.#held.push(one)
      else this.#place(one)
    }
  }

  /** Whether an attempt with the same key was sent earlier and is still in progress. */
  #isPreceded({ started, key }: Held): boolean {
    for (const earlier of this.#open.values()) {
      if (earlier.started >= started) return false
      earlier.identified ??= this.#identify(earlier)
      if (earlier.identified.key === key) return true
    }
    return false
  }

  /** Adds an attempt to the interaction that it repeats, or begins one. */
  #place({ key, request, started, attempt }: Held): void {
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
    pending.ended = started + attempt.endedAt
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
}

/** Statuses after which clients and gateways try again. */
const mayBeRetried = ({ end, response }: RecordedAttempt): boolean =>
  end !== 'complete' ||
  !response ||
  response.status === 408 ||
  response.status === 409 ||
  response.status === 429 ||
  response.status >= 500
