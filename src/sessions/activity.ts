// Work that is done in a session: a call, say.
import type { Activity, Requester } from './session.ts'

/** What the activities of a generation have in common. */
export interface Activities {
  /** Aborted with the generation. */
  ending: AbortController
  /** The signals that somebody has asked for. */
  running: Set<AbortController>
  /** Counts those that are not over, of all generations. */
  lineage: { active: number }
}

/** One signal of the client's and the session's; none of the two keeps anything of it when it is over. */
export class RunningActivity implements Activity {
  readonly #client: Requester
  readonly #among: Activities
  #joined: { controller: AbortController; release(): void } | undefined
  #isOver = false

  constructor(client: Requester, among: Activities) {
    this.#client = client
    this.#among = among
    among.lineage.active++
  }

  get signal(): AbortSignal {
    this.#joined ??= this.#join()
    return this.#joined.controller.signal
  }

  get aborted(): boolean {
    if (this.#joined) return this.#joined.controller.signal.aborted
    return this.#among.ending.signal.aborted || this.#client.signal.aborted
  }

  end(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#joined?.release()
    this.#among.lineage.active--
  }

  #join() {
    const { ending, running } = this.#among
    const { signal } = this.#client
    const controller = new AbortController()
    const leave = () => {
      controller.abort(signal.reason)
      this.end()
    }
    const release = () => {
      signal.removeEventListener('abort', leave)
      running.delete(controller)
    }
    if (ending.signal.aborted) controller.abort(ending.signal.reason)
    else if (signal.aborted) controller.abort(signal.reason)
    else if (!this.#isOver) {
      running.add(controller)
      signal.addEventListener('abort', leave, { once: true })
    }
    return { controller, release }
  }
}
