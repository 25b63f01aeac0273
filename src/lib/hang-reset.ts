// The reason with which a call's signal is aborted when its client waits forever.

/** The client still waited after the limit of silence, so its connection was reset. */
export class HangReset extends Error {
  /** The limit, in milliseconds of silence. */
  readonly limit: number
  /** Milliseconds after which data would have followed, if known. */
  silence: number | undefined
  constructor(limit: number) {
    super(`the client was still waiting after ${limit} ms of silence, so its connection was reset (--hang-limit)`)
    this.limit = limit
  }
}

/** Notes how long a latency of `ms` would have been when such a reset ends it. Endless silence is not noted. */
export function noteSilence(reason: unknown, ms: number): void {
  if (reason instanceof HangReset && Number.isFinite(ms)) reason.silence = ms
}

/** Forgets the length of a silence after which no data would have followed. Use it as the rejection handler of a latency. */
export function endsWithoutData(reason: unknown): never {
  if (reason instanceof HangReset) reason.silence = undefined
  throw reason
}
