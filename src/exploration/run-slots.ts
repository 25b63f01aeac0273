// How many runs of the command are in progress: those that work have a job each, and those that only wait have none.

/** Maximum number of runs in progress for each job, including those that wait. */
export const RUNS_PER_JOB = 4

/** Reports whether a run only waits: for a response that does not come, or for the end of its back-off. */
export type ReportsWait = (isWaiting: boolean) => void

/**
 * Places for `jobs` runs that work, and for more that wait. A run that stops waiting works again at once, so that more
 * than `jobs` may work for a moment; no other run starts then.
 * @param most maximum number of runs in progress, default four for each job
 * @example
 * await createRunSlots(1).use(async () => 2) // => 2
 */
export function createRunSlots(jobs: number, most: number = jobs * RUNS_PER_JOB) {
  let [working, all] = [0, 0]
  const queue: (() => void)[] = []
  const startNext = () => {
    while (working < jobs && all < most) {
      const start = queue.shift()
      if (!start) return
      working++
      all++
      start()
    }
  }
  return {
    /** Starts a run as soon as a job is free. */
    async use<T>(start: (wait: ReportsWait) => Promise<T>): Promise<T> {
      await new Promise<void>((resolve) => {
        queue.push(resolve)
        startNext()
      })
      let waits = false
      const wait: ReportsWait = (isWaiting) => {
        if (isWaiting === waits) return
        waits = isWaiting
        working += waits ? -1 : 1
        startNext()
      }
      try {
        return await start(wait)
      } finally {
        wait(false)
        working--
        all--
        startNext()
      }
    },
  }
}
