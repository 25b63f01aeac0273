// Which failed call a new call repeats, as far as is known at its start, and so whose client waited in between.
import type { ClientMark } from '../../contract/core/finding.ts'

/** A failed call: its time on both clocks, and its Retry-After in ms, 0 without one. */
export interface Failed {
  endedAt: number
  passed: number
  wait: number
  mark: ClientMark
}

/** Timers of clients and ours round differently. */
const ROUNDING_MS = 10
/** Maximum number of remembered failed calls. */
const MAX_KEPT = 2_000

/** A failed call, and the connection of the last call that was assumed to repeat it: another one may prove to do so. */
interface KeptCall extends Failed {
  guessedOn?: string | null
}

/** The failed calls of a session that may be repeated, by the key of their bodies. */
export class FailedCalls {
  readonly #calls = new Map<string, KeptCall[]>()
  #size = 0

  add(body: string, failed: Failed): void {
    this.#calls.set(body, [...(this.#calls.get(body) ?? []), { ...failed }])
    if (++this.#size <= MAX_KEPT) return
    const [oldest, [first] = []] = [...this.#calls.entries().take(1)][0] ?? []
    if (oldest !== undefined && first) this.#remove(oldest, first)
  }

  /**
   * Takes the call that one with this body repeats, at an instant of the machine's clock; undefined if it repeats none.
   */
  take(body: string, mark: ClientMark, now: number): Failed | undefined {
    const calls = this.#calls.get(body) ?? []
    const certain = declaredOf(mark, calls)
    const found = certain ?? likelyOf(mark, calls, now)
    if (!found) return undefined
    if (certain || (found.mark.connection === mark.connection && found.mark.retry === null)) this.#remove(body, found)
    else found.guessedOn = mark.connection
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

/** The call that another one declares to repeat: by its idempotency key, or by its retry count. */
function declaredOf({ key, retry }: ClientMark, calls: readonly KeptCall[]): KeptCall | undefined {
  if (key !== null) return calls.findLast(({ mark }) => mark.key === key)
  return retry ? calls.find(({ mark }) => mark.retry === retry - 1) : undefined
}

/**
 * The call that is most likely repeated if many workers send equal requests without a retry count: by API key, by
 * Retry-After, and by connection. If nothing decides, it is the last one: this may be one client that does not wait.
 */
function likelyOf(
  { caller, connection, key, retry }: ClientMark,
  calls: readonly KeptCall[],
  now: number,
): KeptCall | undefined {
  if (key !== null || retry) return undefined
  const expired = calls.filter(
    ({ endedAt: left, wait, mark }) => now - left >= wait - ROUNDING_MS && mark.caller === caller,
  )
  const own = expired.filter(({ mark, guessedOn }) => mark.connection === connection && guessedOn !== connection)
  const likely = own.length > 0 ? own : expired.filter(({ guessedOn }) => guessedOn === undefined)
  return likely.find(({ wait }) => wait > 0) ?? likely.at(-1)
}
