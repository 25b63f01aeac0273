// Work that is done in a session: a call, say.
import type { Activity, Requester } from './session.ts'

/** What the activities of a generation have in common. */
interface Activities {
  /** Aborted with the generation. */
  ending: AbortController
  /** The signals that somebody has asked for. */
  running: Set<AbortController>
  /** Counts those that are not over, of all generations. */
  lineage: { active: number }
}

/**
 * One signal of the client's and the session's; none of the two keeps anything of it when it is over. It listens itself: a
 * function for each of the thousands that do would cost more than the listening.
 */
export class RunningActivity implements Activity, EventListenerObject {
  readonly #client: Requester
  readonly #among: Activities
  #joined: AbortController | undefined
  #isOver = false

  constructor(client: Requester, among: Activities) {
    this.#client = client
    this.#among = among
    among.lineage.active++
  }

  get signal(): AbortSignal {
    this.#joined ??= this.#join()
    return this.#joined.signal
  }

  get aborted(): boolean {
    if (this.#joined) return this.#joined.signal.aborted
    return this.#among.ending.signal.aborted || this.#client.signal.aborted
  }

  end(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#among.lineage.active--
    if (!this.#joined) return
    this.#client.signal.removeEventListener('abort', this)
    this.#among.running.delete(this.#joined)
  }

  /** The client has gone. */
  handleEvent(): void {
    this.#joined?.abort(this.#client.signal.reason)
    this.end()
  }

  #join(): AbortController {
    const { ending, running } = this.#among
    const { signal } = this.#client
    const controller = new AbortController()
    if (ending.signal.aborted) controller.abort(ending.signal.reason)
    else if (signal.aborted) controller.abort(signal.reason)
    else if (!this.#isOver) {
      running.add(controller)
      signal.addEventListener('abort', this)
    }
    return controller
  }
}
