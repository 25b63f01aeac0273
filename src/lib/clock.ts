// Time comes in as an argument everywhere, so that an outage of ten minutes can be played in milliseconds.

/** Where every timestamp and every wait of a session comes from. */
export interface Clock {
  readonly kind: 'real' | 'virtual'
  /** Whole milliseconds since the Unix epoch. */
  now(): number
  /** Resolves after `ms` milliseconds of this clock; rejects with the signal's reason when that is aborted first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
}

/** The machine's own clock. */
export const realClock: Clock = {
  kind: 'real',
  now: Date.now,
  sleep: (ms, signal) =>
    new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason)
      const stop = () => {
        clearTimeout(timer)
        reject(signal?.reason)
      }
      const timer = setTimeout(() => {
        signal?.removeEventListener('abort', stop)
        resolve()
      }, ms)
      signal?.addEventListener('abort', stop, { once: true })
    }),
}

/** Waits for ever: rejects with the signal's reason once that is aborted. No wait of a clock, since a virtual one would jump to its end. */
export const untilAborted = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    if (signal.aborted) return reject(signal.reason)
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  })

/** The instant at which every virtual clock starts: 2025-01-01T00:00:00Z. */
export const VIRTUAL_START = Date.UTC(2025, 0, 1)

/** Event-loop turns without new waits after which a virtual clock takes it that nothing else can run. */
const IDLE_TURNS = 3

/** A clock that stands still until nothing else can run, then jumps to the next due wait; equal due times keep their order. */
export function virtualClock(start = VIRTUAL_START): Clock {
  let now = start
  let turnsLeft = 0
  const waits: { due: number; wake: () => void }[] = []

  const turn = () => {
    if (--turnsLeft > 0) return setImmediate(turn)
    const next = waits.shift()
    if (!next) return
    now = Math.max(now, next.due)
    next.wake()
    if (waits.length > 0) watch()
  }
  const watch = () => {
    if (turnsLeft <= 0) setImmediate(turn)
    turnsLeft = IDLE_TURNS
  }
  return {
    kind: 'virtual',
    now: () => Math.floor(now),
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        if (signal?.aborted) return reject(signal.reason)
        const stop = () => {
          waits.splice(waits.indexOf(wait), 1)
          reject(signal?.reason)
        }
        const wake = () => {
          signal?.removeEventListener('abort', stop)
          resolve()
        }
        const wait = { due: now + Math.max(0, ms), wake }
        const later = waits.findIndex((other) => other.due > wait.due)
        waits.splice(later < 0 ? waits.length : later, 0, wait)
        signal?.addEventListener('abort', stop, { once: true })
        watch()
      }),
  }
}
