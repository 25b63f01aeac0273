// A bound on how long somebody outside is waited for, in real time.

/** The promise, or a rejection with what `late` makes when it has not settled after `ms` milliseconds. */
export function within<T>(promise: Promise<T>, ms: number, late: () => Error): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(late()), Math.min(ms, LONGEST_MS))
    promise.then(
      (value) => {
        clearTimeout(timer)
        resolve(value)
      },
      (error) => {
        clearTimeout(timer)
        reject(error)
      },
    )
  })
}
/** What a timer can wait at most. */
const LONGEST_MS = 2 ** 31 - 1
