// Groups the items of a list.

/**
 * The items in groups of equal keys, in order of appearance.
 * @example
 * groupBy(['ant', 'bee', 'asp'], ([letter]) => letter) // => [['ant', 'asp'], ['bee']]
 */
export function groupBy<Item>(items: readonly Item[], keyOf: (item: Item) => string): Item[][] {
  const groups = new Map<string, Item[]>()
  for (const item of items) {
    const key = keyOf(item)
    const group = groups.get(key)
    if (group) group.push(item)
    else groups.set(key, [item])
  }
  return [...groups.values()]
}
