// How a command returns an exit code of its own.

/**
 * Converts a function that returns an exit code to an action for commander, after which the command ends with that
 * code.
 */
export type Exiting = <Arguments extends unknown[]>(
  run: (...args: Arguments) => Promise<number>,
) => (...args: Arguments) => Promise<void>
