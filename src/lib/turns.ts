// Turns at something that few may do at the same time: those of different owners alternate, however many one of them has.

/** Takes turns. */
interface Turns {
  /**
   * What the work gives, done when it is its owner's turn.
   * @throws the signal's reason when that is aborted before
   */
  take<Result>(owner: { readonly signal: AbortSignal; key: object }, work: () => Promise<Result>): Promise<Result>
}

/** Turns of which so many are taken at the same time. */
export function turnsOf(most: number): Turns {
  // In the order in which owners have their next turn.
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
    async take({ signal, key }, work) {
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
