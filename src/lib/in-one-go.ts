// Does the same work for several calls in one go.

let waiting: (() => void)[] = []

/**
 * The result of work that is done in the next turn of the event loop, directly after that of other calls, in their order. Its code and
 * tables are read into the processor's caches once for all of them: between other work, redacting a trace takes twice as long.
 */
export function inOneGo<Result>(work: () => Result): Promise<Result> {
  const { promise, resolve, reject } = Promise.withResolvers<Result>()
  const length = waiting.push(() => {
    try {
      resolve(work())
    } catch (error) {
      reject(error)
    }
  })
  if (length === 1) setImmediate(runWaiting)
  return promise
}

function runWaiting(): void {
  const all = waiting
  waiting = []
  for (const run of all) run()
}
