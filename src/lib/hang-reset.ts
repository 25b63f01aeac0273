// Why a call is ended whose client waits for ever: what its signal is aborted with.

/** The client was still waiting after a limit of silence, so its connection was reset. */
export class HangReset extends Error {
  /** Milliseconds of silence after which it happened. */
  readonly limit: number
  /** Milliseconds after which the silence would have ended by itself, where that is known. */
  left: number | undefined
  constructor(limit: number) {
    super(`the client was still waiting after ${limit} ms of silence, so its connection was reset (--hang-limit)`)
    this.limit = limit
  }
}

/** Notes, when latency is ended by such a reset, how much of it was left; endless silence has no end to note. */
export function noteLeft(reason: unknown, left: number): void {
  if (reason instanceof HangReset && Number.isFinite(left)) reason.left = Math.max(0, Math.round(left))
}
