// Texts of which each is much like the one before, such as the events of a stream: kept as what differs.
import { cutWhole } from './well-formed.ts'

/**
 * The first texts in threes: how many characters are those at the beginning of the text before, how many those at its end, and
 * the rest; as many texts as take no more than so many characters, of the last one its beginning. `before` is a known text that
 * the first one may be like.
 */
export function frontCoded(texts: Iterable<string>, most: number, before = ''): (string | number)[] {
  const coded: (string | number)[] = []
  let left = most
  // The events of a stream have the same head and tail again and again. To look for one that is known takes a tenth of the time
  // that it takes to go through its characters; each is one of the text before.
  let knownHead = ''
  let knownTail = ''
  for (const text of texts) {
    const shorter = Math.min(before.length, text.length)
    const head = sameHead(before, text, text.startsWith(knownHead) ? Math.min(knownHead.length, shorter) : 0)
    if (isNews(head, knownHead)) knownHead = text.slice(0, head)
    const room = shorter - head
    const tail = sameTail(before, text, { room, from: text.endsWith(knownTail) ? Math.min(knownTail.length, room) : 0 })
    if (isNews(tail, knownTail)) knownTail = text.slice(text.length - tail)
    const middle = text.slice(head, text.length - tail)
    left -= middle.length + NUMBERS
    if (left < 0) {
      const rest = cutWhole(middle, Math.max(0, left + middle.length))
      if (rest !== '') coded.push(head, 0, rest)
      break
    }
    coded.push(head, tail, middle)
    before = text
  }
  return coded
}

/** Whether as many characters make another known part: fewer do, since the text has no more, and many more. */
const isNews = (same: number, known: string): boolean => same < known.length || same > known.length + MANY_MORE
/** A letter or two more are the same by accident, and not in the next text. */
const MANY_MORE = 16

/** How many characters two texts begin with alike, of which some are known to be. */
function sameHead(before: string, text: string, from: number): number {
  const most = Math.min(before.length, text.length)
  let head = from
  while (head < most && text.charCodeAt(head) === before.charCodeAt(head)) head++
  return head
}

/** How many characters two texts end with alike, of which some are known to be, and of which there is room for so many. */
function sameTail(before: string, text: string, { room, from }: { room: number; from: number }): number {
  let tail = from
  while (tail < room && text.charCodeAt(text.length - 1 - tail) === before.charCodeAt(before.length - 1 - tail)) tail++
  return tail
}

/** Characters of the two numbers. */
const NUMBERS = 8

/** The texts that were coded. */
export function frontDecoded(coded: readonly (string | number)[], before = ''): string[] {
  const texts: string[] = []
  for (let at = 0; at + 2 < coded.length; at += 3) {
    const [head, tail, middle] = [Number(coded[at]), Number(coded[at + 1]), String(coded[at + 2])]
    before = before.slice(0, head) + middle + before.slice(before.length - tail)
    texts.push(before)
  }
  return texts
}
