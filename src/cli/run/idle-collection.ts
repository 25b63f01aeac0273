// Frees memory after many calls: when no more calls arrive, or earlier if it is much.
import { fullGC } from 'bun:jsc'
import type { Understudy } from '../../deps.ts'
import { everySoOften } from '../../lib/clock.ts'
import { withFetch } from './wrapped.ts'

/**
 * Calls after which a collection is worth its time, tens of milliseconds without responses. The server is idle when there
 * was no call for so long, in ms.
 */
const [WORTHWHILE_CALLS, PAUSE_MS] = [1_000, 1_000]
/** Bytes of memory from which on the server does not wait for a pause: it needs only a fraction itself. */
const MUCH_MEMORY = 350e6
/** Bytes from which on calls wait for a collection: a concurrent one frees less. */
const TOO_MUCH_MEMORY = 400e6
/**
 * Bytes by which memory must have grown since calls last waited: without garbage, they would wait repeatedly for
 * nothing.
 */
const MUCH_GROWTH = 50e6
/** Checks between two collections while calls continue. */
const LOOKS_BETWEEN = 5

/** Collects the garbage of a finished run, if it had many calls. */
export function collectAfter(calls: number): void {
  if (calls >= WORTHWHILE_CALLS) Bun.gc(true)
}

/** Memory operations of the runtime. */
interface Collection {
  /** Collects all garbage, and compiled code. */
  collect(): void
  /** Collects all garbage and keeps compiled code, in half the time. */
  collectBetween(): void
  /** Starts a concurrent collection while calls are handled, which blocks no one for as long. */
  collectBeside(): void
  /** Bytes of memory of the process. */
  memory(): number
  every: typeof everySoOften
}
const RUNTIME: Omit<Collection, 'memory'> = {
  collect: () => Bun.gc(true),
  collectBetween: fullGC,
  collectBeside: () => Bun.gc(false),
  every: everySoOften,
}

/** The program, which collects its garbage in the first pause after many calls, and when it has become much: the runtime by itself waits for more of it. */
export function withIdleCollection(
  understudy: Understudy,
  given: Pick<Collection, 'memory'> & Partial<Collection>,
): Understudy {
  const { collect, collectBetween, collectBeside, memory, every } = { ...RUNTIME, ...given }
  let calls = 0
  let seen = 0
  let looks = LOOKS_BETWEEN
  /** The minimum memory since calls waited for a collection, which is returned to the system a moment later. */
  let least = 0
  let hasWaited = false
  let stopWatch: (() => void) | undefined
  const look = () => {
    looks++
    if (calls === seen) {
      stopWatch?.()
      stopWatch = undefined
      if (calls >= WORTHWHILE_CALLS) {
        collect()
        calls = 0
      }
    } else {
      const bytes = memory()
      least = hasWaited ? bytes : Math.min(least, bytes)
      hasWaited = false
      if (looks >= LOOKS_BETWEEN && bytes > MUCH_MEMORY) {
        looks = 0
        hasWaited = bytes > TOO_MUCH_MEMORY && bytes > least + MUCH_GROWTH
        if (hasWaited) collectBetween()
        else collectBeside()
      }
    }
    seen = calls
  }
  return withFetch(understudy, (request, hold) => {
    calls++
    stopWatch ??= every(PAUSE_MS, look)
    return understudy.app.fetch(request, hold)
  })
}
