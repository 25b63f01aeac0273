// Why a call is ended whose client waits for ever: what its signal is aborted with.

/** The client was still waiting after a limit of silence, so its connection was reset. */
export class HangReset extends Error {
  /** Milliseconds of silence after which it happened. */
  readonly limit: number
  /** Milliseconds after which the silence would have ended by itself, where that is known. */
  silence: number | undefined
  constructor(limit: number) {
    super(`the client was still waiting after ${limit} ms of silence, so its connection was reset (--hang-limit)`)
    this.limit = limit
  }
}

/** Notes, when latency of `ms` is ended by such a reset, how long it would have been; endless silence has no end to note. */
export function noteSilence(reason: unknown, ms: number): void {
  if (reason instanceof HangReset && Number.isFinite(ms)) reason.silence = ms
}
