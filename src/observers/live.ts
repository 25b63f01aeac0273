// What happens, as a stream of server-sent events for one client; what waits for a slow one is bounded.
import type { CallMaterial, Observation, Observers } from '../contract/observation.ts'
import type { CacheSize } from '../lib/byte-cache.ts'
import { realClock } from '../lib/clock.ts'
import { monotonicMs } from '../lib/monotonic.ts'
import { dataEvent, encodeEvent, type StreamEvent } from '../lib/sse.ts'

/** Bytes that wait for a client that does not read; what comes while they do is left out and counted. */
const MOST_WAITING_BYTES = 4_000_000
/** The same for all clients together: anybody may open a thousand of them. */
const MOST_BYTES = 32_000_000
/** Bytes that are given to the connection at a time: what it does not take, it keeps. */
const PIECE_BYTES = 128_000
/** What comes within so long after a piece goes out with the next one: a piece of its own costs calls more than its bytes. */
const TOGETHER_MS = 25
/** How often a silent stream says that it is still there. */
const ALIVE_EVERY_MS = 15_000
/** The same as `TOGETHER_MS` where events are gathered, and the least that is waited there: a call that is quick has then ended. */
const GATHERED_MS = 100
const LEAST_GATHERED_MS = 20

/** Makes one event of many; it is written when the client takes it, so that what comes meanwhile costs next to nothing. */
export interface Gathering {
  /** Takes the observation up; gives what is to be shown of it by itself, if anything. */
  add(observation: Observation, call?: CallMaterial): StreamEvent | undefined
  /** Whether there is anything to send. */
  readonly isDue: boolean
  /** What has been gathered since the last time. */
  take(): StreamEvent
}

/** What a client is shown. */
export interface LiveOptions {
  /** Name of the session; every one when left out. */
  session: string | undefined
  /** Aborted when the client has gone. */
  signal: AbortSignal
  /** Gathers events; each is shown whole, by itself, when left out. */
  gathering?: Gathering | undefined
}

/** The stream of what happens from now on; it begins with `ready`, and says `dropped` where something was left out. */
export function liveStream(
  observers: Observers,
  { session, signal, gathering }: LiveOptions,
): ReadableStream<Uint8Array> {
  const queue = boundedQueue(gathering)
  queue.push(() => encoder.encode(encodeEvent(dataEvent({ session: session ?? null }, { event: 'ready' }))))
  const leave = observers.add((observation: Observation, call) => {
    if (session !== undefined && observation.session !== session) return
    if (!gathering) return queue.push(() => eventOf(observation))
    const alone = gathering.add(observation, call)
    if (alone) queue.push(() => encoder.encode(encodeEvent(alone)))
    else queue.wake()
  })
  const stop = new AbortController()
  const end = () => {
    leave()
    stop.abort()
    queue.close()
    observers.ended.removeEventListener('abort', end)
  }
  if (signal.aborted || observers.ended.aborted) end()
  else for (const one of [signal, observers.ended]) one.addEventListener('abort', end, { once: true })
  keepAlive(queue, stop.signal)
  return new ReadableStream(
    {
      async pull(controller) {
        const bytes = await queue.next()
        if (bytes === undefined) controller.close()
        else controller.enqueue(bytes)
      },
      cancel: end,
    },
    // Nothing is taken from the queue before the client wants it: what waits is counted in one place.
    { highWaterMark: 0 },
  )
}

function keepAlive(queue: Queue, signal: AbortSignal): void {
  const beat = async () => {
    for (;;) {
      await realClock.sleep(ALIVE_EVERY_MS, signal)
      queue.comment('alive')
    }
  }
  beat().catch(() => {})
}

const encoder = new TextEncoder()
const encoded = new WeakMap<Observation, Uint8Array>()
/** Written once for all clients, who share its bytes. */
function eventOf(observation: Observation): Uint8Array {
  const known = encoded.get(observation)
  if (known) return known
  const bytes = encoder.encode(encodeEvent(dataEvent(observation, { event: observation.type })))
  encoded.set(observation, bytes)
  return bytes
}

const all = { clients: 0, bytes: 0 }
/** How many watch, and how much waits for them. */
export const liveSize = (): CacheSize => ({ entries: all.clients, bytes: all.bytes, limit: MOST_BYTES })

interface Queue {
  /** Takes the event unless too much waits. */
  push(event: () => Uint8Array): void
  comment(text: string): void
  /** Looks again whether there is anything to send. */
  wake(): void
  /** Some of what waits, as soon as anything does; undefined at the end. */
  next(): Promise<Uint8Array | undefined>
  close(): void
}

function boundedQueue(gathering: Gathering | undefined): Queue {
  let waiting: Uint8Array[] = []
  let size = 0
  let dropped = 0
  let closed = false
  let sent = Number.NEGATIVE_INFINITY
  let wake: (() => void) | undefined
  all.clients++
  const count = (bytes: number) => {
    size += bytes
    all.bytes += bytes
  }
  const add = (bytes: Uint8Array) => {
    waiting.push(bytes)
    count(bytes.length)
    wake?.()
  }
  return {
    push(event) {
      // Whoever reads gets what comes, however much waits for others; what is left out is left out in one place.
      const full = dropped > 0 || size >= MOST_WAITING_BYTES || (size > 0 && all.bytes >= MOST_BYTES)
      if (full) dropped++
      else if (!closed) add(event())
    },
    comment(text) {
      if (size === 0 && !closed) add(encoder.encode(`: ${text}\n\n`))
    },
    wake: () => wake?.(),
    async next() {
      while (size === 0 && !gathering?.isDue && !closed) await new Promise<void>((resolve) => (wake = resolve))
      const since = monotonicMs() - sent
      const early = gathering ? Math.max(GATHERED_MS - since, size > 0 ? 0 : LEAST_GATHERED_MS) : TOGETHER_MS - since
      if (early > 0 && size < PIECE_BYTES && !closed) await realClock.sleep(early)
      sent = monotonicMs()
      if (closed) return undefined
      // What was said alone comes first: a session that has begun anew is not rid of calls that it has had since.
      if (size === 0 && gathering) return encoder.encode(encodeEvent(gathering.take()))
      let taken = 0
      let end = 0
      for (; end < waiting.length && (end === 0 || taken < PIECE_BYTES); end++) taken += waiting[end]?.length ?? 0
      const bytes = Buffer.concat(waiting.slice(0, end))
      waiting = waiting.slice(end)
      count(-taken)
      if (size === 0 && dropped > 0) {
        add(encoder.encode(encodeEvent(dataEvent({ count: dropped }, { event: 'dropped' }))))
        dropped = 0
      }
      return bytes
    },
    close() {
      if (closed) return
      closed = true
      all.clients--
      // What waits goes to nobody.
      waiting = []
      count(-size)
      wake?.()
    },
  }
}
