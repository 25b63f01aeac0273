// Advances virtual time while a client really waits: before its next call if no call is in progress, and before it
// repeats a failed call, even if others are in progress.
import { namedSession, withoutPrefix } from '../../access.ts'
import type { ConnectionFinder } from '../../contract/core/connection.ts'
import type { ClientMark } from '../../contract/core/finding.ts'
import type { TraceRecord } from '../../contract/core/trace.ts'
import type { Understudy } from '../../deps.ts'
import { clientMark } from '../../gateway/record/client-mark.ts'
import { realClock } from '../../lib/clock.ts'
import { sha256 } from '../../lib/ids.ts'
import type { VirtualClock } from '../../lib/virtual-clock.ts'
import { withFetch, wrapConnection } from './wrapped.ts'

/**
 * Shorter pauses are work or jitter of a client that does not wait, whose responses must stay identical. Below the
 * shortest backoff of the usual SDKs (375 ms), and as far above the pauses of a busy machine as that allows.
 */
export const MIN_PAUSE_MS = 350
/** Maximum number of remembered session names: any client can invent more. */
const MAX_SEEN = 2_000
/** Maximum number of remembered reads of a session. */
const MAX_READS = 2_000
/** Paths of clients. The rest is the page and the control API, which wait for clients themselves. */
const CALLED = /^\/(?:v1|v2|messages|a2a)(?:\/|$)/

/**
 * Wraps the program so that the virtual clock of a session with a scenario follows a client that waits by itself.
 * @param real the machine's clock
 */
export function withClientTime(understudy: Understudy, real: () => number = realClock.now): Understudy {
  const { app, runs, sessions } = understudy
  const clients = new Map<string, ReturnType<typeof clientTime>>()
  sessions.watch({ removed: (name) => void clients.delete(name) })
  const clientOf = (name: string) => {
    const known = clients.get(name)
    if (known) return known
    const idle = clients.size < MAX_SEEN ? undefined : [...clients].find(([, { isIdle }]) => isIdle())
    if (idle) clients.delete(idle[0])
    const client = clientTime(real, () => {
      const session = sessions.list().find((one) => one.name === name)
      return session?.clock.kind === 'virtual' && runs.current(session) ? session.clock : undefined
    })
    clients.set(name, client)
    return client
  }
  const serve = async (request: Request, hold: ConnectionFinder | undefined, client: ReturnType<typeof clientOf>) => {
    let isOver = client.isPoll(request)
    /** For a call: distinguishes it from calls with other bodies. */
    let sent: string | undefined
    const leave = () => {
      isOver = true
      client.leaves()
    }
    const mark = () => ({ ...clientMark(request.headers, ''), connection: hold?.peer?.() ?? null })
    const timed = wrapConnection(hold, {
      begins(path, body) {
        sent = `${path} ${sha256(body)}`
        return client.repeats(sent, mark())
      },
      ends(trace) {
        if (isOver) return
        leave()
        if (trace && sent !== undefined && mayBeRepeated(trace))
          client.fails(sent, { wait: trace.retry_after_ms ?? 0, mark: mark() })
      },
    })
    await client.arrives(request)
    try {
      return await app.fetch(request, timed)
    } finally {
      // A call ends by itself, with the end of its response.
      if (!isOver && sent === undefined) leave()
    }
  }
  return withFetch(understudy, (incoming, hold) => {
    // Without a scenario there is no recovery to test, and responses stay the same however slow a client is.
    if (!runs.begun) return app.fetch(incoming, hold)
    const request = withoutPrefix(incoming)
    const name = CALLED.test(URL.parse(request.url)?.pathname ?? '') ? namedSession(request) : undefined
    return name === undefined ? app.fetch(request, hold) : serve(request, hold, clientOf(name))
  })
}

/** The client of a session: its calls in progress, since when it waits, and which of its calls it may repeat. */
function clientTime(real: () => number, clockNow: () => VirtualClock | undefined) {
  /** The clock that this refers to; a reset session has another one. */
  let clock: VirtualClock | undefined
  let underWay = 0
  /** By the machine's clock; undefined before the first call has ended. */
  let idleSince: number | undefined
  let following: Promise<void> | undefined
  const failed = failedCalls()
  /** Reads since the last other request: repeating one is polling. */
  const reads = new Set<string>()
  /** Events before a reset do not start a wait. */
  const refresh = () => {
    const current = clockNow()
    if (current === clock) return
    clock = current
    idleSince = undefined
    failed.clear()
    reads.clear()
  }
  const follow = (ms: number) => {
    if (ms <= 0 || !clock || clock.frozen) return
    // A clock whose session has ended does not advance.
    const next = Promise.all([following, clock.follow(ms)])
      .then(
        () => {},
        () => {},
      )
      .finally(() => {
        if (following === next) following = undefined
      })
    following = next
  }
  /** Whether a request repeats a recent read. A client that polls waits between reads, and does nothing else. */
  const isPoll = ({ method, url }: Request): boolean => method === 'GET' && reads.has(url)
  return {
    isIdle: () => underWay === 0,
    isPoll,
    /**
     * A request arrives: the clock advances by the time that its client waited without calls in progress. Resolves when
     * that is done.
     */
    arrives(request: Request): Promise<void> | undefined {
      refresh()
      const now = real()
      const pause = underWay === 0 && idleSince !== undefined ? now - idleSince : 0
      if (pause >= MIN_PAUSE_MS) {
        idleSince = now
        follow(pause)
      }
      if (!isPoll(request)) underWay++
      if (request.method !== 'GET' || reads.size >= MAX_READS) reads.clear()
      if (request.method === 'GET') reads.add(request.url)
      return following
    },
    /** Everything except polls has its whole response. */
    leaves(): void {
      underWay--
      refresh()
      if (underWay === 0) idleSince = real()
    },
    /**
     * A call with this body starts: the clock advances by the time that its client waited to repeat it while others were
     * in progress.
     */
    repeats(body: string, mark: ClientMark): Promise<void> | undefined {
      if (!clock) refresh()
      const now = real()
      const first = failed.take(body, mark, now)
      if (!first || !clock) return following
      const waited = now - first.endedAt
      const passed = clock.passed() - first.passed
      const behind = waited - passed
      // A client that honored its Retry-After must meet the recovery that it announced.
      const owed = first.wait - passed
      if (waited >= MIN_PAUSE_MS) follow(Math.max(owed, behind >= MIN_PAUSE_MS ? behind : 0))
      return following
    },
    /** A call with this body failed. */
    fails(body: string, about: Pick<Failed, 'wait' | 'mark'>): void {
      if (clock) failed.add(body, { endedAt: real(), passed: clock.passed(), ...about })
    },
  }
}

const RETRYABLE = new Set([408, 409, 425, 429])
/** Whether a client may repeat the call. */
const mayBeRepeated = ({ outcome, status, attempts, faults }: TraceRecord): boolean =>
  outcome === 'http_error'
    ? status >= 500 || RETRYABLE.has(status)
    : outcome !== 'succeeded' || faults.length > 0 || attempts.some((attempt) => attempt.faults.length > 0)

/** A failed call: its time on both clocks, and its Retry-After in ms, 0 without one. */
interface Failed {
  endedAt: number
  passed: number
  wait: number
  mark: ClientMark
}

/** Timers of clients and ours round differently. */
const ROUNDING_MS = 10
/** Maximum number of remembered failed calls. */
const MAX_KEPT = 2_000

/** A failed call, and the connection of the last call that was assumed to repeat it: another one may prove to do so. */
interface KeptCall extends Failed {
  guessedOn?: string | null
}

/** The failed calls of a session that may be repeated, by the key of their bodies. */
function failedCalls() {
  const calls = new Map<string, KeptCall[]>()
  let size = 0
  const remove = (body: string, call: KeptCall) => {
    const others = (calls.get(body) ?? []).filter((other) => other !== call)
    size--
    if (others.length > 0) calls.set(body, others)
    else calls.delete(body)
  }
  return {
    add(body: string, failed: Failed): void {
      calls.set(body, [...(calls.get(body) ?? []), { ...failed }])
      if (++size <= MAX_KEPT) return
      const [oldest, [first] = []] = [...calls.entries().take(1)][0] ?? []
      if (oldest !== undefined && first) remove(oldest, first)
    },
    /**
     * Takes the call that one with this body repeats, at an instant of the machine's clock; undefined if it repeats none.
     */
    take(body: string, mark: ClientMark, now: number): Failed | undefined {
      const same = calls.get(body) ?? []
      const certain = declaredOf(mark, same)
      const found = certain ?? likelyOf(mark, same, now)
      if (!found) return undefined
      if (certain || (found.mark.connection === mark.connection && found.mark.retry === null)) remove(body, found)
      else found.guessedOn = mark.connection
      return found
    },
    clear(): void {
      calls.clear()
      size = 0
    },
  }
}

/** The call that another one declares to repeat: by its idempotency key, or by its retry count. */
function declaredOf({ key, retry }: ClientMark, calls: readonly KeptCall[]): KeptCall | undefined {
  if (key !== null) return calls.findLast(({ mark }) => mark.key === key)
  return retry ? calls.find(({ mark }) => mark.retry === retry - 1) : undefined
}

/**
 * The call that is most likely repeated if many workers send equal requests without a retry count: by API key, by
 * Retry-After, and by connection. If nothing decides, it is the last one: this may be one client that does not wait.
 */
function likelyOf(
  { caller, connection, key, retry }: ClientMark,
  calls: readonly KeptCall[],
  now: number,
): KeptCall | undefined {
  if (key !== null || retry) return undefined
  const expired = calls.filter(
    ({ endedAt: left, wait, mark }) => now - left >= wait - ROUNDING_MS && mark.caller === caller,
  )
  const own = expired.filter(({ mark, guessedOn }) => mark.connection === connection && guessedOn !== connection)
  const likely = own.length > 0 ? own : expired.filter(({ guessedOn }) => guessedOn === undefined)
  return likely.find(({ wait }) => wait > 0) ?? likely.at(-1)
}
