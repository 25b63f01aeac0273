// Continues with a value that may have to be waited for.

/**
 * Continues with a value: at once if it is there, since every promise takes time, otherwise once it has resolved.
 * @example
 * andThen(1, (one) => one + 1) // => 2
 */
export const andThen = <Value, Result>(
  value: Value | Promise<Value>,
  next: (value: Value) => Result,
): Result | Promise<Awaited<Result>> =>
  value instanceof Promise ? (value.then(next) as Promise<Awaited<Result>>) : next(value)
