// Wire data as text: only invisible characters are changed. Also used by the page.
import type { Bytes, Exchange, SentChunk } from '../contract/core/exchange.ts'

/** The raw bytes. */
export const bytesIn = ({ text, base64 }: Bytes): Uint8Array =>
  base64 === undefined
    ? new TextEncoder().encode(text ?? '')
    : Uint8Array.from(atob(base64), (character) => character.charCodeAt(0))

/** Pieces joined. */
export function joinedBytes(pieces: readonly Bytes[]): Uint8Array {
  const parts = pieces.map(bytesIn)
  const whole = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const part of parts) {
    whole.set(part, at)
    at += part.length
  }
  return whole
}

/** Pieces as one text: bytes that are not UTF-8 as `\xNN`, and mostly binary data in base64. */
export function textIn(pieces: readonly Bytes[]): string {
  if (pieces.every(({ base64 }) => base64 === undefined)) return pieces.map(({ text }) => text).join('')
  const bytes = joinedBytes(pieces)
  try {
    return utf8.decode(bytes)
  } catch {
    return withEscapes(bytes) ?? toBase64(bytes)
  }
}
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Percentage of non-text bytes above which data is binary. */
const MAX_ESCAPED = 5

function withEscapes(bytes: Uint8Array): string | undefined {
  const most = 1 + (bytes.length * MAX_ESCAPED) / 100
  let text = ''
  let escaped = 0
  for (let at = 0; at < bytes.length; ) {
    const length = characterAt(bytes, at)
    if (length === 0) {
      if (++escaped > most) return undefined
      text += `\\x${(bytes[at] ?? 0).toString(16).padStart(2, '0')}`
      at++
      continue
    }
    text += utf8.decode(bytes.subarray(at, at + length))
    at += length
  }
  return text
}

/** Length in bytes of the character at an offset; 0 if there is none. */
function characterAt(bytes: Uint8Array, at: number): number {
  for (let length = 1; length <= 4 && at + length <= bytes.length; length++) {
    try {
      utf8.decode(bytes.subarray(at, at + length))
      return length
    } catch {
      // One more byte may complete it.
    }
  }
  return 0
}

/** Bytes in base64. */
export function toBase64(bytes: Uint8Array): string {
  let binary = ''
  for (const byte of bytes) binary += String.fromCharCode(byte)
  return btoa(binary)
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const UNSEEN = /[\x00-\x08\x0b-\x1f\x7f]/g
/** A text with invisible characters, and those that a terminal interprets, escaped; tabs and line feeds stay. */
export const visible = (text: string): string =>
  text.replace(UNSEEN, (character) =>
    character === '\r' ? '\\r' : `\\x${character.charCodeAt(0).toString(16).padStart(2, '0')}`,
  )

/** The first line of a request and its headers. */
export const requestHead = ({ method, address, headers }: NonNullable<Exchange['request']>): string =>
  head(`${method} ${address}`, headers)

/** The first line of a response and its headers. */
export const responseHead = ({ status, headers }: NonNullable<Exchange['response']>): string =>
  head(`HTTP ${status}`, headers)

const head = (first: string, headers: Record<string, string> | null) =>
  [first, ...Object.entries(headers ?? {}).map(([name, value]) => `${name}: ${value}`)].join('\n')

/** An event of a stream, or what is between two, as sent. */
export interface SentEvent {
  /** When the last of it was sent. */
  at_ms: number | null
  text: string
}

/** Splits a stream of events at its blank lines, whatever they contain; the last part may be incomplete. */
export function eventsIn(pieces: readonly SentChunk[]): SentEvent[] {
  const events: SentEvent[] = []
  let rest = ''
  // The bytes of a character may be in two pieces.
  let bytes: Bytes[] = []
  for (const piece of pieces) {
    bytes.push(piece)
    if (piece.base64 !== undefined && piece !== pieces.at(-1)) continue
    rest += textIn(bytes)
    bytes = []
    for (let end = blankEnd(rest); end > 0; end = blankEnd(rest)) {
      events.push({ at_ms: piece.at_ms, text: rest.slice(0, end) })
      rest = rest.slice(end)
    }
  }
  const last = pieces.at(-1)?.at_ms ?? null
  if (rest !== '') events.push({ at_ms: last, text: rest })
  return events
}

/** The end of the first blank line of a text; 0 without one. */
function blankEnd(text: string): number {
  const found = /\r\n\r\n|\n\n|\r\r/.exec(text)
  return found ? found.index + found[0].length : 0
}

const ENDS: Record<NonNullable<Exchange['ended']>, string> = {
  complete: 'complete',
  reset: 'then the connection was reset (TCP RST)',
  closed: 'then the connection was closed before the end of the response (TCP FIN)',
  garbled: 'then an invalid chunk size was sent and the connection was closed (TCP FIN)',
  left: 'then the client disconnected or stopped reading',
}

/** How a response ended, as a sentence without its full stop. */
export function endText({ response, ended }: Exchange): string {
  if (ended === null) return 'no data of the connection was stored'
  if (!response) return `no byte was sent, ${ENDS[ended]}`
  const { bytes } = response
  const sent =
    bytes === null
      ? 'a body that was not stored because of heavy load'
      : `${bytes.toLocaleString('en-US')} bytes of body`
  return `${sent}, ${ENDS[ended]}`
}
