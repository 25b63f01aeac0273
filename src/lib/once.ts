// What is made when it is first asked for, and kept.

/** A function that makes its value once; used for modules too, since what a call does not need must not slow its start. */
export function once<Value>(make: () => Value): () => Value {
  let made: { value: Value } | undefined
  return () => (made ??= { value: make() }).value
}
