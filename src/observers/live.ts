// GET /_understudy/live as a stream of server-sent events for one client, with a limited buffer for a slow one.
import type { CallsChanged } from '../contract/core/call-row.ts'
import type { Observation, Observers } from '../contract/core/observation.ts'
import type { CacheSize } from '../lib/byte-cache.ts'
import { realClock } from '../lib/clock.ts'
import { dataEvent, encodeEvent, type StreamEvent } from '../lib/sse.ts'

/** Bytes of events that wait for a client that does not read; later ones are dropped and counted. */
const MAX_WAITING_BYTES = 4_000_000
/** The same for all clients together: there may be a thousand. */
const MAX_BYTES = 32_000_000
/** Bytes per write; what the connection does not accept, it buffers. */
const PIECE_BYTES = 128_000
/** Changes that wait for a client that does not read. With more of them it must reload everything. */
const MAX_CHANGES = 10_000
/**
 * Events within this time are sent together: a separate write costs calls more than its bytes. Interval of keep-alive
 * comments in a silent stream.
 */
const [TOGETHER_MS, ALIVE_EVERY_MS] = [25, 15_000]

/** What a client receives. */
export interface LiveOptions {
  /** Name of the session; all sessions if undefined. */
  session: string | undefined
  /** Aborts when the client disconnects. */
  signal: AbortSignal
  /** `events` for each observation, complete; `numbers` for what has changed and must be requested. */
  as: 'events' | 'numbers'
}

/** The buffer of one client. */
interface Waiting {
  add(observation: Observation): void
  readonly isEmpty: boolean
  /** A part of the buffer, which is not empty. */
  take(): Uint8Array
  /** Discards the rest. */
  clear(): void
}

const encoder = new TextEncoder()
const bytesOf = (event: StreamEvent) => encoder.encode(encodeEvent(event))

const all = { clients: 0, bytes: 0 }
/** Number of clients, and of bytes buffered for them. */
export const liveSize = (): CacheSize => ({ entries: all.clients, bytes: all.bytes, limit: MAX_BYTES })

/** A stream of events from now on; it starts with `ready`. */
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
    // Nothing is taken before the client wants it, so that the buffer is counted in one place.
    { highWaterMark: 0 },
  )
}

/** Each observation as an event; `dropped` is the number of dropped ones. */
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
      // A client that reads receives everything, however much waits for others. Drops happen only here.
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

/** Changes after which a session has none of its earlier calls. */
const ENDING: ReadonlySet<string> = new Set(['deleted', 'reset', 'replaced'])

/** The changes, one event for each session and kind of change: its size grows with sessions, not with their calls. */
function changesWaiting(ready: StreamEvent): Waiting {
  const changes = new Map([['', ready]])
  /** Sessions by the trace ids of their calls. */
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
      // A client that has missed something must reload everything.
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
