// GET /_understudy/live as a stream of server-sent events for one client; what waits for a slow one is bounded.
import type { CallsChanged } from '../contract/core/call-row.ts'
import type { Observation, Observers } from '../contract/core/observation.ts'
import type { CacheSize } from '../lib/byte-cache.ts'
import { realClock } from '../lib/clock.ts'
import { dataEvent, encodeEvent, type StreamEvent } from '../lib/sse.ts'

/** Bytes of events that wait for a client that does not read; later ones are left out and counted. */
const MAX_WAITING_BYTES = 4_000_000
/** The same for all clients together: anybody may open a thousand of them. */
const MAX_BYTES = 32_000_000
/** Bytes that are given to the connection at a time: what it does not take, it keeps. */
const PIECE_BYTES = 128_000
/** Changes that wait for a client that does not read; with more of them it is to look at everything again. */
const MAX_CHANGES = 10_000
/** What happens within so long is sent together: a piece of its own costs calls more than its bytes. */
const TOGETHER_MS = 25
/** How often a silent stream shows that it is still there. */
const ALIVE_EVERY_MS = 15_000

/** What a client is sent. */
export interface LiveOptions {
  /** Name of the session; every one when undefined. */
  session: string | undefined
  /** Aborted when the client has gone. */
  signal: AbortSignal
  /** `events` for each observation, whole; `numbers` for what has changed, to be asked for. */
  as: 'events' | 'numbers'
}

/** What waits for one client. */
interface Waiting {
  add(observation: Observation): void
  readonly isEmpty: boolean
  /** Some of what waits, which is not empty. */
  take(): Uint8Array
  /** Nobody takes the rest. */
  clear(): void
}

const encoder = new TextEncoder()
const bytesOf = (event: StreamEvent) => encoder.encode(encodeEvent(event))

const all = { clients: 0, bytes: 0 }
/** How many clients watch, and how many bytes wait for them. */
export const liveSize = (): CacheSize => ({ entries: all.clients, bytes: all.bytes, limit: MAX_BYTES })

/** The stream of what happens from now on; it begins with `ready`. */
export function liveStream(observers: Observers, { session, signal, as }: LiveOptions): ReadableStream<Uint8Array> {
  const ready = dataEvent({ session: session ?? null }, { event: 'ready' })
  const waiting = as === 'numbers' ? changesWaiting(ready) : eventsWaiting(ready)
  const stop = new AbortController()
  let wake = () => {}
  const leave = observers.add((observation) => {
    if (session !== undefined && observation.session !== session) return
    waiting.add(observation)
    wake()
  })
  all.clients++
  stop.signal.addEventListener('abort', () => {
    leave()
    all.clients--
    waiting.clear()
    wake()
  })
  const end = () => stop.abort()
  for (const one of [signal, observers.ended]) {
    if (one.aborted) end()
    else one.addEventListener('abort', end, { once: true, signal: stop.signal })
  }
  /** Resolves to whether anything waits: nothing does after a long silence, or at the end. */
  const happened = async (): Promise<boolean> => {
    const woken = new Promise<void>((resolve) => (wake = resolve))
    const slept = new AbortController()
    if (waiting.isEmpty && !stop.signal.aborted)
      await Promise.race([woken, realClock.sleep(ALIVE_EVERY_MS, slept.signal).catch(() => {})])
    slept.abort()
    return !waiting.isEmpty
  }
  let isFirst = true
  return new ReadableStream(
    {
      async pull(controller) {
        const isDue = await happened()
        if (isDue && !isFirst) await realClock.sleep(TOGETHER_MS)
        isFirst = false
        if (stop.signal.aborted) controller.close()
        else controller.enqueue(waiting.isEmpty ? encoder.encode(': alive\n\n') : waiting.take())
      },
      cancel: end,
    },
    // Nothing is taken before the client wants it: what waits is counted in one place.
    { highWaterMark: 0 },
  )
}

/** Each observation as an event; `dropped` says how many were left out. */
function eventsWaiting(ready: StreamEvent): Waiting {
  let events: Uint8Array[] = []
  let size = 0
  let dropped = 0
  const count = (bytes: number) => {
    size += bytes
    all.bytes += bytes
  }
  const push = (bytes: Uint8Array) => {
    events.push(bytes)
    count(bytes.length)
  }
  push(bytesOf(ready))
  return {
    get isEmpty() {
      return size === 0
    },
    add(observation) {
      // Whoever reads gets what comes, however much waits for others; what is left out is left out in one place.
      const full = dropped > 0 || size >= MAX_WAITING_BYTES || (size > 0 && all.bytes >= MAX_BYTES)
      if (full) dropped++
      else push(bytesOf(dataEvent(observation, { event: observation.type })))
    },
    take() {
      let end = 0
      let taken = 0
      for (; end < events.length && (end === 0 || taken < PIECE_BYTES); end++) taken += events[end]?.length ?? 0
      const bytes = Buffer.concat(events.splice(0, end))
      count(-taken)
      if (size === 0 && dropped > 0) {
        push(bytesOf(dataEvent({ count: dropped }, { event: 'dropped' })))
        dropped = 0
      }
      return bytes
    },
    clear() {
      events = []
      count(-size)
    },
  }
}

/** Changes after which a session has none of the calls that it had. */
const ENDING: ReadonlySet<string> = new Set(['deleted', 'reset', 'replaced'])

/** What has changed, an event for each session and kind of change: it grows with sessions, and not with their calls. */
function changesWaiting(ready: StreamEvent): Waiting {
  const changes = new Map([['', ready]])
  /** Sessions by the ids of the traces of their calls. */
  const underWay = new Map<string, string>()
  const above = new Map<string, number>()
  let callsChanged = false
  const add = (observation: Observation) => {
    const { type: event, session } = observation
    switch (observation.type) {
      case 'call-begun':
        underWay.set(observation.trace, session)
        break
      case 'call-lost':
        underWay.delete(observation.trace)
        break
      case 'trace-saved':
        underWay.delete(observation.trace.id)
        above.set(session, Math.min(above.get(session) ?? observation.seq, observation.seq - 1))
        break
      case 'session-changed':
        changes.set(`${observation.change} ${session}`, dataEvent({ session, change: observation.change }, { event }))
        if (!ENDING.has(observation.change)) return
        for (const [trace, name] of underWay) if (name === session) underWay.delete(trace)
        above.set(session, 0)
        break
      case 'task-changed':
        changes.set(`${event} ${session}`, dataEvent({ session }, { event }))
        return
      default:
        return
    }
    callsChanged = true
  }
  return {
    get isEmpty() {
      return changes.size === 0 && !callsChanged
    },
    add(observation) {
      add(observation)
      if (changes.size + above.size <= MAX_CHANGES) return
      // A client that has missed something looks at everything again.
      clear()
      changes.set('', ready)
    },
    take() {
      const data: CallsChanged = { under_way: underWay.size, above: Object.fromEntries(above) }
      const events = [...changes.values(), ...(callsChanged ? [dataEvent(data, { event: 'calls' })] : [])]
      clear()
      return encoder.encode(events.map(encodeEvent).join(''))
    },
    clear,
  }

  function clear() {
    changes.clear()
    above.clear()
    callsChanged = false
  }
}
