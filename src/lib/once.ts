// Values that are computed on first use, and kept.

/**
 * A function that computes its value once. Also used for modules, so that they do not slow the start.
 * @example
 * let runs = 0
 * const value = once(() => ++runs)
 * [value(), value()] // => [1, 1]
 */
export function once<Value>(make: () => Value): () => Value {
  let made: { value: Value } | undefined
  return () => (made ??= { value: make() }).value
}

/** A function that computes its value once per object, and keeps it as long as the object exists. */
export function onceFor<Key extends object, Value extends object>(make: (key: Key) => Value): (key: Key) => Value {
  const made = new WeakMap<Key, Value>()
  return (key) => made.getOrInsertComputed(key, make)
}
