// Texts of which each is much like the one before, such as the events of a stream: kept as what differs.

/**
 * The first texts in threes: how many characters are those at the beginning of the text before, how many those at its end, and
 * the rest; as many texts as take no more than so many characters.
 */
export function frontCoded(texts: Iterable<string>, most: number): (string | number)[] {
  const coded: (string | number)[] = []
  let left = most
  let before = ''
  let head = 0
  let tail = 0
  for (const text of texts) {
    head = sameHead(before, text, head)
    tail = sameTail(before, text, { head, guess: tail })
    const middle = text.slice(head, text.length - tail)
    left -= middle.length + NUMBERS
    if (left < 0) break
    coded.push(head, tail, middle)
    before = text
  }
  return coded
}
// The events of a stream have the same head and tail again and again. To compare so much at once takes a tenth of the time that
// it takes to go through its characters, so as many as were the same last time are tried first.
function sameHead(before: string, text: string, guess: number): number {
  const most = Math.min(before.length, text.length)
  let head = guess <= most && text.startsWith(before.slice(0, guess)) ? guess : 0
  while (head < most && text.charCodeAt(head) === before.charCodeAt(head)) head++
  return head
}

function sameTail(before: string, text: string, { head, guess }: { head: number; guess: number }): number {
  const most = Math.min(before.length, text.length) - head
  let tail = guess <= most && text.endsWith(before.slice(before.length - guess)) ? guess : 0
  while (tail < most && text.charCodeAt(text.length - 1 - tail) === before.charCodeAt(before.length - 1 - tail)) tail++
  return tail
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
