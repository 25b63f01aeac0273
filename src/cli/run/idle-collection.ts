// Gives back what many calls have left in memory: once nobody calls any more, and before, when it is much.
import type { Understudy } from '../../deps.ts'
import { everySoOften } from '../../lib/clock.ts'

/** Calls that leave enough for a collection to be worth its time, tens of milliseconds in which nothing is answered. */
const WORTHWHILE_CALLS = 1_000
/** Nobody calls when there was no call for so long, in ms. */
const PAUSE_MS = 1_000
/** Bytes of memory from which on the server does not wait for a pause: what it needs itself is a fraction of them. */
const MUCH_MEMORY = 350e6
/** Bytes from which on calls wait for a collection: what is done beside them gives back less. */
const TOO_MUCH_MEMORY = 600e6
/** Looks between two collections while calls go on. */
const LOOKS_BETWEEN = 5

/** Collects the garbage of a run that has ended, if it had many calls. */
export function collectAfter(calls: number): void {
  if (calls >= WORTHWHILE_CALLS) Bun.gc(true)
}

/** What the memory is looked after with. */
interface Collection {
  /** Collects all garbage. */
  collect(): void
  /** Begins to, and goes on while calls are answered: nobody waits as long as for all at once. */
  collectBeside(): void
  /** Bytes of memory that the process has. */
  memory(): number
  every: typeof everySoOften
}
const RUNTIME: Collection = {
  collect: () => Bun.gc(true),
  collectBeside: () => Bun.gc(false),
  memory: residentBytes,
  every: everySoOften,
}

/** 0 where the system does not say, as while too many files are open. */
function residentBytes(): number {
  try {
    return process.memoryUsage.rss()
  } catch {
    return 0
  }
}

/** The program, which collects its garbage in the first pause after many calls, and when it has become much: the runtime by itself waits for more of it. */
export function withIdleCollection({ app, ...rest }: Understudy, given: Partial<Collection> = {}): Understudy {
  const { collect, collectBeside, memory, every } = { ...RUNTIME, ...given }
  let calls = 0
  let seen = 0
  let looks = LOOKS_BETWEEN
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
    } else if (looks >= LOOKS_BETWEEN) {
      const bytes = memory()
      if (bytes > MUCH_MEMORY) looks = 0
      if (bytes > TOO_MUCH_MEMORY) collect()
      else if (bytes > MUCH_MEMORY) collectBeside()
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
