// What happens, as a stream of server-sent events for one client; what waits for a slow one is bounded.
import type { Observation, Observers } from '../contract/observation.ts'
import { realClock } from '../lib/clock.ts'
import { encodeEvent } from '../lib/sse.ts'

/** Bytes that wait for a client that does not read; what comes while they do is left out and counted. */
const MOST_WAITING_BYTES = 4_000_000
/** How often a silent stream says that it is still there. */
const ALIVE_EVERY_MS = 15_000

/** What a client is shown. */
export interface LiveOptions {
  /** Name of the session; every one when left out. */
  session: string | undefined
  /** Aborted when the client has gone. */
  signal: AbortSignal
}

/** The stream of what happens from now on; it begins with `ready`, and says `dropped` where something was left out. */
export function liveStream(observers: Observers, { session, signal }: LiveOptions): ReadableStream<Uint8Array> {
  const queue = boundedQueue()
  queue.push('ready', { session: session ?? null })
  const leave = observers.add((observation: Observation) => {
    if (session === undefined || observation.session === session) queue.push(observation.type, observation)
  })
  const stop = new AbortController()
  const end = () => {
    leave()
    stop.abort()
    queue.close()
  }
  if (signal.aborted) end()
  else signal.addEventListener('abort', end, { once: true })
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

interface Queue {
  push(type: string, data: object): void
  comment(text: string): void
  /** All that waits, as soon as anything does; undefined at the end. */
  next(): Promise<Uint8Array | undefined>
  close(): void
}

const encoder = new TextEncoder()

function boundedQueue(): Queue {
  let waiting: Uint8Array[] = []
  let size = 0
  let dropped = 0
  let closed = false
  let wake: (() => void) | undefined
  const add = (text: string) => {
    const bytes = encoder.encode(text)
    waiting.push(bytes)
    size += bytes.length
    wake?.()
  }
  return {
    push(type, data) {
      if (size >= MOST_WAITING_BYTES) dropped++
      else add(encodeEvent({ event: type, data }))
    },
    comment(text) {
      if (size === 0) add(`: ${text}\n\n`)
    },
    async next() {
      while (size === 0 && !closed) await new Promise<void>((resolve) => (wake = resolve))
      if (size === 0) return undefined
      if (dropped > 0) add(encodeEvent({ event: 'dropped', data: { count: dropped } }))
      const bytes = Buffer.concat(waiting)
      waiting = []
      size = 0
      dropped = 0
      return bytes
    },
    close() {
      closed = true
      wake?.()
    },
  }
}
