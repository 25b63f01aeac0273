// What may be done often, but not at every one of very many calls.

/** So many times a second, and as many more as were left over in the seconds before. */
export class Allowance {
  readonly #perSecond: number
  readonly #most: number
  #left: number
  #at = 0

  constructor({ perSecond, most }: { perSecond: number; most: number }) {
    this.#perSecond = perSecond
    this.#most = most
    this.#left = most
  }

  /** Whether it may be done at a time, in ms; it is then taken for done. */
  take(now: number): boolean {
    const passed = Math.max(0, now - this.#at)
    this.#at = now
    this.#left = Math.min(this.#most, this.#left + (passed * this.#perSecond) / 1000)
    if (this.#left < 1) return false
    this.#left--
    return true
  }
}
