// A rate limit for work that is too expensive to do on every call.

/** Allows a number of uses per second; unused ones of earlier seconds are carried over. */
export class Allowance {
  readonly #perSecond: number
  readonly #most: number
  #remaining: number
  #at = 0

  constructor({ perSecond, most }: { perSecond: number; most: number }) {
    this.#perSecond = perSecond
    this.#most = most
    this.#remaining = most
  }

  /** Whether one more use is allowed at a time, in ms. If so, it is counted. */
  take(now: number): boolean {
    const passed = Math.max(0, now - this.#at)
    this.#at = now
    this.#remaining = Math.min(this.#most, this.#remaining + (passed * this.#perSecond) / 1000)
    if (this.#remaining < 1) return false
    this.#remaining--
    return true
  }
}
