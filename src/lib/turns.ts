// A semaphore that is fair between owners: their turns alternate, however many one of them requests.

/** Allows `most` turns at the same time. */
export function turnsOf(most: number) {
  // In the order of the owners' next turns.
  const waiting = new Map<object, (() => void)[]>()
  let taken = 0
  const next = () => {
    const [first] = waiting
    if (!first || taken >= most) return
    const [key, [begin, ...others]] = first
    waiting.delete(key)
    if (others.length > 0) waiting.set(key, others)
    taken++
    begin?.()
  }
  const turn = (signal: AbortSignal, key: object) =>
    new Promise<void>((resolve, reject) => {
      const leave = () => {
        const others = waiting.get(key)?.filter((one) => one !== begin) ?? []
        if (others.length > 0) waiting.set(key, others)
        else waiting.delete(key)
        reject(signal.reason)
      }
      const begin = () => {
        signal.removeEventListener('abort', leave)
        resolve()
      }
      if (signal.aborted) return reject(signal.reason)
      signal.addEventListener('abort', leave, { once: true })
      waiting.set(key, [...(waiting.get(key) ?? []), begin])
      next()
    })
  return {
    /**
     * The result of the work, which runs when it is its owner's turn.
     * @throws the signal's reason if that aborts before
     */
    async take<Result>(
      { signal, key }: { readonly signal: AbortSignal; key: object },
      work: () => Promise<Result>,
    ): Promise<Result> {
      await turn(signal, key)
      try {
        return await work()
      } finally {
        taken--
        next()
      }
    },
  }
}
