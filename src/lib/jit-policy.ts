// When code is compiled. What runs at a start runs once or a few times, and to compile it took a fifth of the time until the first
// answer: an executable begins with a compiler that is reluctant, and soon has its usual one.

/** How many times more often than usual code must run at first until it is compiled. */
export const STARTING_POLICY = 10

/** A start and its first answer take less, in ms. */
const STARTING_MS = 250

/** Brings the usual compiler back once the program has started; it is there already when it runs from source. */
export function compileAsUsualSoon(): void {
  setTimeout(() => Bun.unsafe.setJITPolicy(1), STARTING_MS).unref()
}
