// Which failed call a call repeats, as far as that can be told when it begins: whose client has waited in between.
import type { ClientMark } from '../contract/finding.ts'

/** A call that failed: when, on both clocks, and how long its client was told to wait (0 when it was not), in ms. */
export interface Failed {
  left: number
  passed: number
  wait: number
  mark: ClientMark
}

/** Timers of clients and ours round differently. */
const ROUNDING_MS = 10
/** Failed calls that are remembered. */
const MOST_KEPT = 2_000

/** A failed call; one that a call on another connection was taken to repeat may still be repeated on its own. */
interface KeptCall extends Failed {
  isTaken: boolean
}

/** The failed calls of a session that may be repeated, by what tells calls with equal bodies from others. */
export class FailedCalls {
  readonly #calls = new Map<string, KeptCall[]>()
  #size = 0

  add(body: string, failed: Failed): void {
    this.#calls.set(body, [...(this.#calls.get(body) ?? []), { ...failed, isTaken: false }])
    if (++this.#size <= MOST_KEPT) return
    const [oldest, [first] = []] = [...this.#calls.entries().take(1)][0] ?? []
    if (oldest !== undefined && first) this.#remove(oldest, first)
  }

  /** Gives the call that one with this body repeats at an instant of the machine's clock, once; undefined when it repeats none. */
  take(body: string, mark: ClientMark, now: number): Failed | undefined {
    const found = repeatedBy(mark, this.#calls.get(body) ?? [], now)
    if (!found) return undefined
    if (found.mark.connection === mark.connection) this.#remove(body, found)
    else found.isTaken = true
    return found
  }

  clear(): void {
    this.#calls.clear()
    this.#size = 0
  }

  #remove(body: string, call: KeptCall): void {
    const others = (this.#calls.get(body) ?? []).filter((other) => other !== call)
    this.#size--
    if (others.length > 0) this.#calls.set(body, others)
    else this.#calls.delete(body)
  }
}

/**
 * What many workers ask alike is told apart by what they say of their repetitions, by how long they were told to wait, and by
 * their connections. Where nothing tells it, a call repeats the last one: it may be one client that does not wait.
 */
function repeatedBy(mark: ClientMark, calls: readonly KeptCall[], now: number): KeptCall | undefined {
  if (mark.key !== null) return calls.findLast((call) => call.mark.key === mark.key)
  if (mark.retry === 0) return undefined
  const over = calls.filter(({ left, wait }) => now - left >= wait - ROUNDING_MS)
  const own = over.filter((call) => call.mark.connection === mark.connection)
  const free = over.filter(({ isTaken }) => !isTaken)
  if (mark.retry !== null) return free.find((call) => call.mark.retry === (mark.retry ?? 0) - 1)
  const likely = own.length > 0 ? own : free
  return likely.find(({ wait }) => wait > 0) ?? likely.at(-1)
}
