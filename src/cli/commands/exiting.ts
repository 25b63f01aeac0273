// How a command that has an exit code of its own says it.

/** Makes of a function that gives an exit code one that commander can call, and whose code the command ends with. */
export type Exiting = <Arguments extends unknown[]>(
  run: (...args: Arguments) => Promise<number>,
) => (...args: Arguments) => Promise<void>
