// Gives back what many calls have left in memory: once nobody calls any more, and before, when it is much.
import { fullGC } from 'bun:jsc'
import type { Understudy } from '../../deps.ts'
import { everySoOften } from '../../lib/clock.ts'

/** Calls that leave enough for a collection to be worth its time, tens of milliseconds in which nothing is answered. */
const WORTHWHILE_CALLS = 1_000
/** Nobody calls when there was no call for so long, in ms. */
const PAUSE_MS = 1_000
/** Bytes of memory from which on the server does not wait for a pause: what it needs itself is a fraction of them. */
const MUCH_MEMORY = 350e6
/** Bytes from which on calls wait for a collection: what is done beside them gives back less. */
const TOO_MUCH_MEMORY = 500e6
/** Bytes by which it must have grown since calls have waited: without garbage, they would wait again and again for nothing. */
const MUCH_GROWTH = 50e6
/** Looks between two collections while calls go on. */
const LOOKS_BETWEEN = 5

/** Collects the garbage of a run that has ended, if it had many calls. */
export function collectAfter(calls: number): void {
  if (calls >= WORTHWHILE_CALLS) Bun.gc(true)
}

/** What the memory is looked after with. */
interface Collection {
  /** Collects all garbage, and code that can be compiled again. */
  collect(): void
  /** Collects all garbage and keeps the code, in half the time. */
  collectBetween(): void
  /** Begins to, and goes on while calls are answered: nobody waits as long as for all at once. */
  collectBeside(): void
  /** Bytes of memory that the process has. */
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
  { app, ...rest }: Understudy,
  given: Pick<Collection, 'memory'> & Partial<Collection>,
): Understudy {
  const { collect, collectBetween, collectBeside, memory, every } = { ...RUNTIME, ...given }
  let calls = 0
  let seen = 0
  let looks = LOOKS_BETWEEN
  /** The least memory since calls have waited for a collection, which is given back to the system a moment later. */
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
  return {
    ...rest,
    app: {
      fetch(request, hold) {
        calls++
        stopWatch ??= every(PAUSE_MS, look)
        return app.fetch(request, hold)
      },
    },
  }
}
