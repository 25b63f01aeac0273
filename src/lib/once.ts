// What is made when it is first asked for, and kept.

/**
 * A function that makes its value once; used for modules too, since what a call does not need must not slow its start.
 * @example
 * let runs = 0
 * const value = once(() => ++runs)
 * [value(), value()] // => [1, 1]
 */
export function once<Value>(make: () => Value): () => Value {
  let made: { value: Value } | undefined
  return () => (made ??= { value: make() }).value
}

/** A function that makes its value once for each object, and keeps it as long as there is the object. */
export function onceFor<Key extends object, Value extends object>(make: (key: Key) => Value): (key: Key) => Value {
  const made = new WeakMap<Key, Value>()
  return (key) => {
    const known = made.get(key)
    if (known) return known
    const value = make(key)
    made.set(key, value)
    return value
  }
}
