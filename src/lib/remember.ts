// What is worked out again and again of the same few texts and numbers.

/** A function that knows its last result: the calls of a client have most of what they say in common. */
export function remembering<Key extends string | number, Value>(of: (key: Key) => Value): (key: Key) => Value {
  let last: { key: Key; value: Value } | undefined
  return (key) => {
    if (!last || key !== last.key) last = { key, value: of(key) }
    return last.value
  }
}
