// Memoization for functions that are often called with the same few texts and numbers.

/** A function that caches its last result only. */
export function remembering<Key extends string | number, Value>(of: (key: Key) => Value): (key: Key) => Value {
  let last: { key: Key; value: Value } | undefined
  return (key) => {
    if (!last || key !== last.key) last = { key, value: of(key) }
    return last.value
  }
}

type Plain = string | number | boolean | null | undefined

/** Maximum number of cached results: an application makes a few kinds of calls in turn. */
const MAX_KNOWN = 8

/** A function that caches its last eight results, each by all of its arguments. */
export function rememberingAll<Keys extends readonly Plain[], Value>(
  of: (...keys: Keys) => Value,
): (...keys: Keys) => Value {
  const cached: { keys: Keys; value: Value }[] = []
  let next = 0
  return (...keys) => {
    for (const one of cached) if (areSame(one.keys, keys)) return one.value
    const value = of(...keys)
    cached[next] = { keys, value }
    next = (next + 1) % MAX_KNOWN
    return value
  }
}

function areSame(some: readonly Plain[], others: readonly Plain[]): boolean {
  for (let index = 0; index < some.length; index++) if (some[index] !== others[index]) return false
  return true
}
