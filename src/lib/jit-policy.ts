// When code is compiled. Code that runs at start-up runs once or a few times, and compiling it took a fifth of the time
// until the first response. So an executable starts with a reluctant compiler, and soon switches to the usual one.

/** How many times more often than usual code must run at first before it is compiled. */
export const STARTING_POLICY = 10

/** Longer than a start and its first response take, in ms. */
const STARTING_MS = 250

/** Restores the usual compiler after the start. Without effect when run from source. */
export function compileAsUsualSoon(): void {
  setTimeout(() => Bun.unsafe.setJITPolicy(1), STARTING_MS).unref()
}
