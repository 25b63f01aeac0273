// Groups the items of a list.

/**
 * The items in groups of equal keys, in order of appearance.
 * @example
 * groupBy(['ant', 'bee', 'asp'], ([letter]) => letter) // => [['ant', 'asp'], ['bee']]
 */
export const groupBy = <Item, Key>(items: Iterable<Item>, keyOf: (item: Item) => Key): Item[][] => [
  ...Map.groupBy(items, keyOf).values(),
]
