// Texts inside other texts: the text of a JSON string, a value of a URL, the pieces of a stream. A range of such a text is replaced where
// it stands in the bytes, in the encoding of that place.
import { firstIndex } from '../lib/values.ts'

/** A text, decoded, whose ranges can be replaced where they stand. */
export interface TextView {
  readonly text: string
  /** Replaces a range; the end is exclusive. The new text is encoded as its place requires. */
  replace(start: number, end: number, by: string): void
}

/** A replacement in a text; the end is exclusive. */
export interface Edit {
  start: number
  end: number
  by: string
}

/** A text whose replacements are collected, and applied together. */
export class EditedText implements TextView {
  readonly text: string
  readonly #edits: Edit[] = []

  constructor(text: string) {
    this.text = text
  }

  replace(start: number, end: number, by: string): void {
    this.#edits.push({ start, end, by })
  }

  /** The replacements in order. Of two that overlap, the first replaces its range, and the rest of the other is removed. */
  edits(): readonly Readonly<Edit>[] {
    // Sorting is stable: of two with the same start, the earlier one stays first.
    const sorted = this.#edits.toSorted((one, other) => one.start - other.start)
    let last = 0
    return sorted.flatMap((edit) => {
      if (edit.end <= last && edit.start < last) return []
      const kept = edit.start < last ? { start: last, end: edit.end, by: '' } : edit
      last = Math.max(last, kept.end)
      return [kept]
    })
  }

  /** The text with all replacements. */
  result(): string {
    return edited(this.text, this.edits())
  }
}

/** A text with replacements, which are in order. */
export function edited(text: string, edits: readonly Readonly<Edit>[]): string {
  if (edits.length === 0) return text
  const parts: string[] = []
  let from = 0
  for (const { start, end, by } of edits) {
    parts.push(text.slice(from, start), by)
    from = end
  }
  return parts.join('') + text.slice(from)
}

/** A range of another text, in the same encoding. */
export function rangeView(parent: TextView, start: number, end: number): TextView {
  return {
    text: parent.text.slice(start, end),
    replace: (from, to, by) => parent.replace(start + from, start + to, by),
  }
}

/** A text whose characters come from ranges of another one: character `i` stands at `offsets[i]` to `offsets[i + 1]`. */
const mappedView = (
  parent: TextView,
  text: string,
  offsets: ArrayLike<number>,
  encode: (text: string) => string,
): TextView => ({
  text,
  replace: (from, to, by) => parent.replace(offsets[from] ?? 0, offsets[to] ?? 0, encode(by)),
})

/** The text of a JSON string, which stands between `start` and `end` without its quotation marks. */
export function jsonStringView(parent: TextView, start: number, end: number): TextView {
  const raw = parent.text.slice(start, end)
  if (!raw.includes('\\'))
    return { text: raw, replace: (from, to, by) => parent.replace(start + from, start + to, jsonEscaped(by)) }
  const parts: string[] = []
  const offsets = new Uint32Array(raw.length + 1)
  let length = 0
  for (let at = 0; at < raw.length; ) {
    const next = raw.indexOf('\\', at)
    const plain = next < 0 ? raw.length : next
    if (plain > at) parts.push(raw.slice(at, plain))
    for (; at < plain; at++) offsets[length++] = start + at
    if (next < 0) break
    offsets[length++] = start + at
    const hex = raw[at + 1] === 'u' ? raw.slice(at + 2, at + 6) : ''
    const isHex = HEX.test(hex)
    parts.push(
      isHex ? String.fromCharCode(Number.parseInt(hex, 16)) : (ESCAPES[raw[at + 1] ?? ''] ?? raw[at + 1] ?? ''),
    )
    // A backslash at the very end is the first half of an escape that was cut.
    if (at + 1 === raw.length) parts.push('\\')
    at += isHex ? 6 : 2
  }
  offsets[length] = end
  return mappedView(parent, parts.join(''), offsets, jsonEscaped)
}
const HEX = /^[0-9a-f]{4}$/i
const ESCAPES: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r', b: '\b', f: '\f' }
const jsonEscaped = (text: string) => JSON.stringify(text).slice(1, -1)

/** The decoded form of a range of a URL, or of a form, in which a plus sign is a space. */
export function percentView(parent: TextView, start: number, end: number, isForm = false): TextView {
  const raw = parent.text.slice(start, end)
  const encode = (by: string) => encodeURIComponent(by.toWellFormed())
  if (!raw.includes('%') && !(isForm && raw.includes('+')))
    return { text: raw, replace: (from, to, by) => parent.replace(start + from, start + to, encode(by)) }
  const bytes: number[] = []
  const places: number[] = []
  const parts: string[] = []
  const offsets: number[] = []
  // Bytes in a row are one text in UTF-8.
  const flush = () => {
    const decoded = decodeUtf8(bytes)
    parts.push(decoded.text)
    for (const offset of decoded.offsets) offsets.push(places[offset] ?? 0)
    bytes.length = 0
    places.length = 0
  }
  for (let at = 0; at < raw.length; ) {
    const hex = raw[at] === '%' ? raw.slice(at + 1, at + 3) : ''
    if (/^[0-9a-f]{2}$/i.test(hex)) {
      bytes.push(Number.parseInt(hex, 16))
      places.push(start + at)
      at += 3
      continue
    }
    if (bytes.length > 0) flush()
    offsets.push(start + at)
    parts.push(isForm && raw[at] === '+' ? ' ' : (raw[at] ?? ''))
    at++
  }
  if (bytes.length > 0) flush()
  offsets.push(end)
  return mappedView(parent, parts.join(''), offsets, encode)
}

/** Bytes as one character each, so that positions in a text are positions of bytes. A `Buffer` of them takes four times as long. */
export const bytesAsText = (bytes: Uint8Array): string => Buffer.prototype.toString.call(bytes, 'latin1')

/** The UTF-8 text of bytes that are one character each. Invalid bytes stay as they are. */
export function utf8View(parent: TextView): TextView {
  const encode = (by: string) => Buffer.from(by).toString('latin1')
  if (!NOT_ASCII.test(parent.text))
    return { text: parent.text, replace: (from, to, by) => parent.replace(from, to, encode(by)) }
  const { text, offsets } = decodeUtf8(Buffer.from(parent.text, 'latin1'))
  return {
    text,
    replace: (from, to, by) =>
      parent.replace(offsets[from] ?? parent.text.length, offsets[to] ?? parent.text.length, encode(by)),
  }
}
const NOT_ASCII = /[\x80-\xff]/

/** The text of UTF-8 bytes, an invalid byte as U+FFFD, and the position of each UTF-16 unit. */
function decodeUtf8(bytes: ArrayLike<number>): { text: string; offsets: Uint32Array } {
  const units = new Uint16Array(bytes.length)
  const offsets = new Uint32Array(bytes.length)
  let length = 0
  const put = (unit: number, at: number) => {
    units[length] = unit
    offsets[length++] = at
  }
  for (let at = 0; at < bytes.length; ) {
    const { code, width } = codePointAt(bytes, at)
    if (code > 0xffff) {
      // Both halves end where the character ends, so that a range never cuts it.
      put(0xd800 + ((code - 0x10000) >> 10), at)
      put(0xdc00 + ((code - 0x10000) & 0x3ff), at)
    } else put(code, at)
    at += width
  }
  const text = Buffer.from(units.buffer, 0, length * 2).toString('utf16le')
  return { text, offsets: offsets.subarray(0, length) }
}

/** The code point of UTF-8 bytes at an offset, and how many bytes it has: an invalid byte is U+FFFD with one. */
export function codePointAt(bytes: ArrayLike<number>, at: number): { code: number; width: number } {
  const first = bytes[at] ?? 0
  if (first < 0x80) return { code: first, width: 1 }
  const width = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2
  let code = first & (0xff >> (width + 1))
  let valid = first >= 0xc2 && first <= 0xf4
  for (let next = 1; next < width && valid; next++) {
    const byte = bytes[at + next] ?? 0
    valid = byte >> 6 === 2
    code = (code << 6) | (byte & 0x3f)
  }
  const isSurrogate = code >= 0xd800 && code < 0xe000
  if (!valid || code < (MIN_CODE[width] ?? 0) || code > 0x10ffff || isSurrogate) return { code: 0xfffd, width: 1 }
  return { code, width }
}
const MIN_CODE: Readonly<Record<number, number>> = { 2: 0x80, 3: 0x800, 4: 0x10000 }

/** Texts that follow each other, as one. What replaces a range across several of them stands in the first one. */
export function joinedView(views: readonly TextView[], separator = ''): TextView {
  const starts: number[] = []
  let length = 0
  for (const { text } of views) {
    starts.push(length)
    length += text.length + separator.length
  }
  return {
    text: views.map(({ text }) => text).join(separator),
    replace(from, to, by) {
      let rest = by
      const first = Math.max(0, firstIndex(starts, (start) => start > from) - 1)
      for (let index = first; index < views.length; index++) {
        const view = views[index]
        const start = starts[index] ?? 0
        if (!view || (start >= to && to > from)) break
        const [begin, end] = [Math.max(0, from - start), Math.min(view.text.length, to - start)]
        if (begin >= end && from < to) continue
        view.replace(begin, end, rest)
        rest = ''
        if (from === to) break
      }
    },
  }
}
