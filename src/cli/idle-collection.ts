// Gives back what many calls have left in memory, once nobody calls any more.
import type { Understudy } from '../deps.ts'
import { everySoOften } from '../lib/clock.ts'

/** Calls that leave enough for a collection to be worth its time, tens of milliseconds in which nothing is answered. */
const WORTHWHILE_CALLS = 1_000
/** Nobody calls when there was no call for so long, in ms. */
const PAUSE_MS = 1_000

/** Collects the garbage of a run that has ended, if it had many calls. */
export function collectAfter(calls: number): void {
  if (calls >= WORTHWHILE_CALLS) Bun.gc(true)
}

/** The program, which collects its garbage in the first pause after many calls: the runtime by itself waits for more of it. */
export function withIdleCollection(
  { app, ...rest }: Understudy,
  { collect = () => Bun.gc(true), every = everySoOften }: { collect?: () => void; every?: typeof everySoOften } = {},
): Understudy {
  let calls = 0
  let seen = 0
  let stopWatch: (() => void) | undefined
  const look = () => {
    if (calls === seen) {
      stopWatch?.()
      stopWatch = undefined
      if (calls >= WORTHWHILE_CALLS) {
        collect()
        calls = 0
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
