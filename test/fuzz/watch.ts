// Watches servers while they are hunted through: how long each one leaves others waiting, and how much memory it takes.
import type { FuzzRequest } from './requests.ts'

/** A server that is watched. */
export interface Watched {
  url: string
  pid: number
}
/** What a server may do at most. */
export interface Limits {
  stallMs: number
  memoryMb: number
}
/** What was measured, of all servers. */
export interface Measured {
  asked: number
  worstStallMs: number
  peakMemoryMb: number
}
/** What the thread of the watcher reports: something that is too much, or all that it has measured. */
export type Report = { server: number; wrong: string; began: number; ended: number } | { measured: Measured }

/** Starts watching from a thread of its own, which nothing here holds up. `excess` hears of all that is too much. */
export function watch(
  servers: readonly Watched[],
  limits: Limits,
  excess: (report: { server: number; wrong: string; began: number; ended: number }) => void,
) {
  const worker = new Worker(new URL('./watch-thread.ts', import.meta.url))
  const done = Promise.withResolvers<Measured>()
  worker.onmessage = ({ data }: MessageEvent<Report>) =>
    'measured' in data ? done.resolve(data.measured) : excess(data)
  worker.onerror = ({ message }) => done.reject(new Error(`the watcher: ${message}`))
  worker.postMessage({ servers: servers.map(({ url, pid }) => ({ url, pid })), limits })
  return {
    /** Ends the watch, and resolves to what was measured. */
    async stop(): Promise<Measured> {
      worker.postMessage('stop')
      const measured = await done.promise
      worker.terminate()
      return measured
    },
  }
}

/** Milliseconds since 1970, with fractions: the same in all threads. */
export const now = (): number => performance.timeOrigin + performance.now()

/** How long requests are remembered once they are over. */
const REMEMBERED_MS = 5_000
/** A request with those of its session before it. */
interface Sent {
  history: readonly FuzzRequest[]
  began: number
  ended: number
}

/** Remembers which requests were under way when. */
export function requestLog() {
  let log: Sent[] = []
  let swept = 0
  return {
    /** Notes that the last of these is sent; to be called again when its answer is there. */
    begin(history: readonly FuzzRequest[]): () => void {
      const sent: Sent = { history, began: now(), ended: Number.POSITIVE_INFINITY }
      log.push(sent)
      if (sent.began > swept + REMEMBERED_MS) {
        log = log.filter(({ ended }) => ended > sent.began - REMEMBERED_MS)
        swept = sent.began
      }
      return () => {
        sent.ended = now()
      }
    },
    /** The requests that were under way in a time, the one that took longest first. */
    during: (began: number, ended: number): (readonly FuzzRequest[])[] =>
      log
        .filter((sent) => sent.began < ended && sent.ended > began)
        .toSorted((one, other) => Math.min(other.ended, ended) - other.began - (Math.min(one.ended, ended) - one.began))
        .map(({ history }) => history),
  }
}
