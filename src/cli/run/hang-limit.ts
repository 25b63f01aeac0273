// Limits how long a client may wait in silence: such a call is reset, so that a run continues.
import type { ConnectionFinder } from '../../contract/core/connection.ts'
import type { Understudy } from '../../deps.ts'
import { realClock } from '../../lib/clock.ts'
import { HangReset } from '../../lib/hang-reset.ts'
import { WrappedConnection, withFetch } from './wrapped.ts'

/** The default hang limit of exec, in ms. */
export const HANG_LIMIT_MS = 30_000

/**
 * Wraps the program so that it resets the connection of a call whose client has waited in silence for `limit` ms of
 * real time.
 */
export const withHangLimit = (understudy: Understudy, limit: number): Understudy =>
  withFetch(understudy, (incoming, hold) => {
    if (!hold) return understudy.app.fetch(incoming, hold)
    const watched = new WatchedConnection(hold, limit)
    const signal = AbortSignal.any([incoming.signal, watched.signal])
    return understudy.app.fetch(new Request(incoming, { signal }), watched)
  })

/** A connection that is reset after too much silence. */
class WatchedConnection extends WrappedConnection {
  readonly #limit: number
  readonly #reset = new AbortController()

  constructor(hold: ConnectionFinder, limit: number) {
    super(hold)
    this.#limit = limit
  }

  /** Aborts when the connection is reset. */
  get signal(): AbortSignal {
    return this.#reset.signal
  }

  override async waitsFor<T>(next: Promise<T>): Promise<T> {
    const came = new AbortController()
    realClock.sleep(this.#limit, came.signal).then(
      () => this.#end(came.signal),
      () => {},
    )
    try {
      return await next
    } finally {
      came.abort()
    }
  }

  async #end(came: AbortSignal): Promise<void> {
    const connection = await this.find()
    if (came.aborted) return
    // The reason comes first: the server reports that a connection has ended, but not why.
    this.#reset.abort(new HangReset(this.#limit))
    await connection?.reset()
  }
}
