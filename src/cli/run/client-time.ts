// Virtual time passes while a client really waits: before its next call when nothing is under way, and before it repeats a call
// that failed, whatever else is under way.
import { namedSession, withoutPrefix } from '../../access.ts'
import type { Connection, ConnectionFinder } from '../../contract/core/connection.ts'
import type { ClientMark } from '../../contract/core/finding.ts'
import type { TraceRecord } from '../../contract/core/trace.ts'
import type { Understudy } from '../../deps.ts'
import { clientMark } from '../../gateway/record/client-mark.ts'
import { realClock, type VirtualClock } from '../../lib/clock.ts'
import { sha256 } from '../../lib/ids.ts'
import { type Failed, FailedCalls } from './repeats.ts'

/**
 * A shorter pause is work or jitter of a client that does not wait, whose answers stay the same to the byte. Below the shortest
 * back-off of the usual SDKs (375 ms), and as far above the pauses of a busy machine as that allows.
 */
export const MIN_PAUSE_MS = 350
/** Session names that are remembered; anybody can make up more. */
const MAX_SEEN = 2_000
/** Reads of a session that are known. */
const MAX_READS = 2_000
/** Where clients call; the rest is the page and the control API, which wait for clients themselves. */
const CALLED = /^\/(?:v1|v2|messages|a2a)(?:\/|$)/

/**
 * The program, in which the virtual clock of a session with a scenario follows a client that waits by itself.
 * @param real the machine's clock
 */
export function withClientTime({ app, ...rest }: Understudy, real: () => number = realClock.now): Understudy {
  const clients = new Map<string, ClientTime>()
  const clientOf = (name: string): ClientTime => {
    const known = clients.get(name)
    if (known) return known
    const idle = clients.size < MAX_SEEN ? undefined : [...clients].find(([, { isIdle }]) => isIdle)
    if (idle) clients.delete(idle[0])
    const client = new ClientTime(real, () => {
      const session = rest.sessions.list().find((one) => one.name === name)
      return session?.clock.kind === 'virtual' && rest.runs.current(session) ? session.clock : undefined
    })
    clients.set(name, client)
    return client
  }
  const serve = async (request: Request, hold: ConnectionFinder | undefined, client: ClientTime) => {
    const call = new TimedCall(client, request, hold)
    await client.arrives(request)
    try {
      return await app.fetch(request, call)
    } finally {
      call.answered()
    }
  }
  return {
    ...rest,
    app: {
      fetch(incoming, hold) {
        // Without a scenario there is no recovery to meet, and answers stay the same however slow a client is.
        if (!rest.runs.begun) return app.fetch(incoming, hold)
        const request = withoutPrefix(incoming)
        const name = CALLED.test(URL.parse(request.url)?.pathname ?? '') ? namedSession(request) : undefined
        return name === undefined ? app.fetch(request, hold) : serve(request, hold, clientOf(name))
      },
    },
  }
}

/** The client of a session: what it has under way, since when it waits, and which of its calls it may be about to repeat. */
class ClientTime {
  readonly #real: () => number
  readonly #clockNow: () => VirtualClock | undefined
  /** The clock that all of this is about; a session that is reset has another. */
  #clock: VirtualClock | undefined
  #underWay = 0
  /** By the machine's clock; undefined before the first call has ended. */
  #idleSince: number | undefined
  #following: Promise<void> | undefined
  readonly #failed = new FailedCalls()
  /** What was read since something else was done: reading it again is polling. */
  readonly #reads = new Set<string>()

  constructor(real: () => number, clockNow: () => VirtualClock | undefined) {
    this.#real = real
    this.#clockNow = clockNow
  }

  get isIdle(): boolean {
    return this.#underWay === 0
  }

  /** Whether a request reads what its client has just read: who polls waits from one time to the next, and does nothing else. */
  isPoll({ method, url }: Request): boolean {
    return method === 'GET' && this.#reads.has(url)
  }

  /** A request comes: the time passes that its client has waited with nothing under way, and is over when this resolves. */
  arrives(request: Request): Promise<void> | undefined {
    this.#refresh()
    const now = this.#real()
    const pause = this.#underWay === 0 && this.#idleSince !== undefined ? now - this.#idleSince : 0
    if (pause >= MIN_PAUSE_MS) {
      this.#idleSince = now
      this.#follow(pause)
    }
    if (!this.isPoll(request)) this.#underWay++
    if (request.method !== 'GET' || this.#reads.size >= MAX_READS) this.#reads.clear()
    if (request.method === 'GET') this.#reads.add(request.url)
    return this.#following
  }

  /** What came, and was no poll, has its whole answer. */
  leaves(): void {
    this.#underWay--
    this.#refresh()
    if (this.#underWay === 0) this.#idleSince = this.#real()
  }

  /** A call with this body begins: the time passes that its client has waited to repeat it, where others were under way. */
  repeats(body: string, mark: ClientMark): Promise<void> | undefined {
    if (!this.#clock) this.#refresh()
    const now = this.#real()
    const first = this.#failed.take(body, mark, now)
    if (!first || !this.#clock) return this.#following
    const waited = now - first.left
    const passed = this.#clock.passed() - first.passed
    const behind = waited - passed
    // A client that has waited out its Retry-After must meet the recovery that it announced.
    const owed = first.wait - passed
    if (waited >= MIN_PAUSE_MS) this.#follow(Math.max(owed, behind >= MIN_PAUSE_MS ? behind : 0))
    return this.#following
  }

  /** A call with this body failed. */
  fails(body: string, about: Pick<Failed, 'wait' | 'mark'>): void {
    if (this.#clock) this.#failed.add(body, { left: this.#real(), passed: this.#clock.passed(), ...about })
  }

  /** What was before a reset is nothing that the client waits after. */
  #refresh(): void {
    const clock = this.#clockNow()
    if (clock === this.#clock) return
    this.#clock = clock
    this.#idleSince = undefined
    this.#failed.clear()
    this.#reads.clear()
  }

  #follow(ms: number): void {
    if (ms <= 0 || !this.#clock || this.#clock.frozen) return
    const before = this.#following
    // A clock whose session has ended passes no more time.
    const following = Promise.all([before, this.#clock.follow(ms)])
      .then(
        () => {},
        () => {},
      )
      .finally(() => {
        if (this.#following === following) this.#following = undefined
      })
    this.#following = following
  }
}

/** A request whose client's time is kept; the application says when a call begins and ends by its connection. */
class TimedCall implements ConnectionFinder {
  readonly #client: ClientTime
  readonly #hold: ConnectionFinder | undefined
  /** Of a call: what tells it from calls with other bodies. */
  #body: string | undefined
  #isOver: boolean
  readonly #request: Request

  constructor(client: ClientTime, request: Request, hold: ConnectionFinder | undefined) {
    this.#client = client
    this.#request = request
    this.#hold = hold
    this.#isOver = client.isPoll(request)
  }

  find(): Promise<Connection | undefined> {
    return this.#hold?.find() ?? Promise.resolve(undefined)
  }

  peer(): string | undefined {
    return this.#hold?.peer?.()
  }

  leaves(): void {
    this.#hold?.leaves?.()
  }

  waitsFor<T>(next: Promise<T>): Promise<T> {
    return this.#hold?.waitsFor?.(next) ?? next
  }

  begins(path: string, body: Uint8Array): Promise<void> | undefined {
    this.#body = `${path} ${sha256(body)}`
    return this.#client.repeats(this.#body, this.#mark)
  }

  ends(trace?: TraceRecord): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#client.leaves()
    if (!trace || this.#body === undefined || !mayBeRepeated(trace)) return
    this.#client.fails(this.#body, { wait: trace.retry_after_ms ?? 0, mark: this.#mark })
  }

  get #mark(): ClientMark {
    return { ...clientMark(this.#request.headers, ''), connection: this.peer() ?? null }
  }

  /** The application has answered: a call ends by itself, with the last of its response. */
  answered(): void {
    if (this.#isOver || this.#body !== undefined) return
    this.#isOver = true
    this.#client.leaves()
  }
}

const RETRYABLE = new Set([408, 409, 425, 429])
/** Whether a client may well call again with the same. */
const mayBeRepeated = ({ outcome, status, attempts, faults }: TraceRecord): boolean =>
  outcome === 'http_error'
    ? status >= 500 || RETRYABLE.has(status)
    : outcome !== 'succeeded' || faults.length > 0 || attempts.some((attempt) => attempt.faults.length > 0)
