// Compresses texts that are each similar to the previous one, such as the events of a stream, by storing the
// differences.
import { cutWhole } from './well-formed.ts'

/**
 * The first texts as triples: the number of characters shared with the start of the previous text, the number shared
 * with its end, and the rest. It takes as many texts as fit into `most` characters, and the beginning of the last one.
 * `before` is a known text that the first one may resemble.
 */
export function frontCoded(texts: Iterable<string>, most: number, before = ''): (string | number)[] {
  const coded: (string | number)[] = []
  let remaining = most
  // The events of a stream repeat the same head and tail. Testing for a known one takes a tenth of the time of
  // comparing characters.
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
    remaining -= middle.length + NUMBERS
    if (remaining < 0) {
      const rest = cutWhole(middle, Math.max(0, remaining + middle.length))
      if (rest !== '') coded.push(head, 0, rest)
      break
    }
    coded.push(head, tail, middle)
    before = text
  }
  return coded
}

/** Whether so many shared characters are worth a new known part: fewer, because the text ends, or many more. */
const isNews = (same: number, known: string): boolean => same < known.length || same > known.length + MANY_MORE
/** One or two extra shared characters are a coincidence and not in the next text. */
const MANY_MORE = 16

/** The number of characters that two texts share at the start, of which some are known to be equal. */
export function sameHead(before: string, text: string, from = 0): number {
  const most = Math.min(before.length, text.length)
  let head = from
  while (head < most && text.charCodeAt(head) === before.charCodeAt(head)) head++
  return head
}

/** The number of characters that two texts share at the end, of which some are known to be equal, up to a limit. */
export function sameTail(before: string, text: string, { room, from = 0 }: { room: number; from?: number }): number {
  let tail = from
  while (tail < room && text.charCodeAt(text.length - 1 - tail) === before.charCodeAt(before.length - 1 - tail)) tail++
  return tail
}

/** Characters of the two numbers. */
const NUMBERS = 8

/** Decodes the texts. */
export function frontDecoded(coded: readonly (string | number)[], before = ''): string[] {
  const texts: string[] = []
  for (let at = 0; at + 2 < coded.length; at += 3) {
    const [head, tail, middle] = [Number(coded[at]), Number(coded[at + 1]), String(coded[at + 2])]
    before = before.slice(0, head) + middle + before.slice(before.length - tail)
    texts.push(before)
  }
  return texts
}
