// Texts of which each is much like the one before, such as the events of a stream: kept as what differs.

/**
 * The first texts in threes: how many characters are those at the beginning of the text before, how many those at its end, and
 * the rest; as many texts as take no more than so many characters.
 */
export function frontCoded(texts: Iterable<string>, most: number): (string | number)[] {
  const coded: (string | number)[] = []
  let left = most
  let before = ''
  for (const text of texts) {
    const shared = Math.min(before.length, text.length)
    let head = 0
    while (head < shared && text.charCodeAt(head) === before.charCodeAt(head)) head++
    let tail = 0
    while (tail < shared - head && text.at(-1 - tail) === before.at(-1 - tail)) tail++
    const middle = text.slice(head, text.length - tail)
    left -= middle.length + NUMBERS
    if (left < 0) break
    coded.push(head, tail, middle)
    before = text
  }
  return coded
}
/** Characters of the two numbers. */
const NUMBERS = 8

/** The texts that were coded. */
export function frontDecoded(coded: readonly (string | number)[]): string[] {
  const texts: string[] = []
  let before = ''
  for (let at = 0; at + 2 < coded.length; at += 3) {
    const [head, tail, middle] = [Number(coded[at]), Number(coded[at + 1]), String(coded[at + 2])]
    before = before.slice(0, head) + middle + before.slice(before.length - tail)
    texts.push(before)
  }
  return texts
}
