// Frames of a response as lines of text, such as `+120ms data: {...}`, from which every byte can be read again.
import type { Frame } from '../contract/core/cassette.ts'
import { bytesAsText, codePointAt } from './views.ts'

/**
 * How frames are written. In `events` the blank line that ends an event (two line feeds) is left out, and a frame that
 * does not end with it ends with a backslash. In `text` nothing is left out.
 */
export type FrameForm = 'events' | 'text'

const END_OF_EVENT = '\n\n'
/** The start of each line of a frame but the first. */
const CONTINUED = '  '

/** Characters that are not written: controls, invisible and directional characters, line separators, noncharacters. */
const UNWRITTEN = '(?![\\t\\n\\u200c\\u200d])[\\p{Cc}\\p{Cf}\\p{Zl}\\p{Zp}\\ufffe\\uffff]'
/** Such a character, white space at the end of a line, and what looks like an escape. */
const ESCAPED = new RegExp(`${UNWRITTEN}|[ \\t](?=\\n|$)|\\\\(?=x)`, 'gu')
/** Text that looks like an escape but is not one. */
const NO_ESCAPE = /\\x(?![0-9a-f]{2}).{0,2}/
/** A fast test: most bodies have no other characters, and nothing that looks like an escape. */
const USUAL = /^[\t\n\x20-\x7e]*$/
const isUsual = (text: string) => USUAL.test(text) && !text.includes('\\x')
const SPACE_AT_END = /[ \t](?:\n|$)/

const encoder = new TextEncoder()
const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

const hex = (byte: number) => `\\x${byte.toString(16).padStart(2, '0')}`
const escaped = (character: string) => Array.from(encoder.encode(character), hex).join('')

/** The text of bytes, with escapes for what is not text. */
function escapedText(bytes: Uint8Array): string {
  const text = wholeText(bytes)
  if (text !== undefined) return isUsual(text) && !SPACE_AT_END.test(text) ? text : text.replace(ESCAPED, escaped)
  // Parts of valid UTF-8 are text, other bytes are escapes.
  let result = ''
  let from = 0
  for (let at = 0; at < bytes.length; ) {
    const { code, width } = codePointAt(bytes, at)
    if (code !== 0xfffd || width > 1) {
      at += width
      continue
    }
    result += (wholeText(bytes.subarray(from, at)) ?? '').replace(ESCAPED, escaped) + hex(bytes[at] ?? 0)
    from = ++at
  }
  return result + (wholeText(bytes.subarray(from)) ?? '').replace(ESCAPED, escaped)
}

function wholeText(bytes: Uint8Array): string | undefined {
  try {
    return strict.decode(bytes)
  } catch {
    return undefined
  }
}

/** The bytes of a text with escapes. */
function bytesOf(text: string): Uint8Array {
  if (!text.includes('\\x')) return encoder.encode(text)
  const parts = text.split(/\\x([0-9a-f]{2})/)
  return Buffer.concat(
    parts.map((part, index) => (index % 2 === 0 ? encoder.encode(part) : Uint8Array.of(Number.parseInt(part, 16)))),
  )
}

/** The form for a body: that of events if it begins with a line of an event stream. */
export const frameForm = (frames: readonly Frame[]): FrameForm =>
  frames[0] && /^(?:data|event|id|retry)?:/.test(bytesAsText(frames[0].bytes.subarray(0, 8))) ? 'events' : 'text'

/** The start of a frame's first line. */
export const timeMark = (at: number): string => `+${Math.max(0, Math.round(at)) || 0}ms`

/**
 * The frames as lines.
 * @param usual their text, as `usualText` returns it
 */
export function frameLines(frames: readonly Frame[], form: FrameForm, usual: string | undefined): string {
  let end = 0
  return frames.map((frame) => frameLine(frame, form, usual?.slice(end, (end += frame.bytes.length)))).join('\n')
}

/** The text of a body, if it contains nothing to escape but white space. */
export function usualText(body: Uint8Array): string | undefined {
  const text = wholeText(body)
  return text !== undefined && isUsual(text) ? text : undefined
}

/** The bytes of all frames. */
export function joinFrames(frames: readonly Frame[]): Uint8Array {
  const [first] = frames
  if (first && frames.length === 1) return first.bytes
  const all = new Uint8Array(frames.reduce((length, { bytes }) => length + bytes.length, 0))
  let at = 0
  for (const { bytes } of frames) {
    all.set(bytes, at)
    at += bytes.length
  }
  return all
}

/** A usual event, which has no line feed but at its end. */
const EVENT = /^[^\n]*[^\s\\]\n\n$/

function frameLine({ at, bytes }: Frame, form: FrameForm, usual: string | undefined): string {
  if (usual !== undefined && form === 'events' && EVENT.test(usual)) return `${timeMark(at)} ${usual.slice(0, -2)}`
  let text = usual !== undefined && !SPACE_AT_END.test(usual) ? usual : escapedText(bytes)
  let mark = ''
  if (form === 'events') {
    if (text.endsWith(END_OF_EVENT)) {
      text = text.slice(0, -END_OF_EVENT.length)
      // A line must not end with the mark, nor with white space.
      if (text.endsWith('\\')) text = `${text.slice(0, -1)}${hex(0x5c)}`
    } else mark = '\\'
  }
  // Blank lines at the end would be lost.
  let end = text.length
  while (text[end - 1] === '\n') end--
  text = text.slice(0, end) + hex(0x0a).repeat(text.length - end) + mark
  const first = timeMark(at)
  if (text === '') return first
  const lines = text.replace(/\n(?!\n)/g, `\n${CONTINUED}`)
  return lines.startsWith('\n') ? `${first}${lines}` : `${first} ${lines}`
}

/** A line that is not part of a frame; `line` counts from 0. */
export interface FrameProblem {
  line: number
  message: string
}

const FIRST = /^\+(\d{1,15})ms(?: ([\s\S]*))?$/

/** The frames in lines. */
export function readFrames(text: string, form: FrameForm): { frames: Frame[] } | { problem: FrameProblem } {
  const lines = text.replace(/\n$/, '').split('\n')
  const frames: Frame[] = []
  const mayHaveEscapes = text.includes('\\x')
  let open: { at: number; lines: string[] } | undefined
  const close = () => {
    if (open) frames.push({ at: open.at, bytes: frameBytes(open.lines.join('\n'), form) })
  }
  for (const [line, written] of lines.entries()) {
    const [wrong] = (mayHaveEscapes && NO_ESCAPE.exec(written)) || []
    if (wrong !== undefined) {
      const message = `has '${wrong}', which is no escape: one is '\\x' and two digits of 0-9 and a-f, such as '\\x5c' for a backslash`
      return { problem: { line, message } }
    }
    const [, at, content = ''] = FIRST.exec(written) ?? []
    if (at !== undefined) {
      close()
      open = { at: Number(at), lines: [content] }
    } else if (open && (written === '' || written.startsWith(CONTINUED))) {
      open.lines.push(written.slice(CONTINUED.length))
    } else {
      const message = `must begin with a time, such as '+120ms ', or with two spaces if it continues the line before`
      return { problem: { line, message } }
    }
  }
  close()
  return { frames }
}

function frameBytes(text: string, form: FrameForm): Uint8Array {
  if (form === 'text') return bytesOf(text)
  return bytesOf(text.endsWith('\\') ? text.slice(0, -1) : text + END_OF_EVENT)
}

/** Share of the bytes that are no text, above which a body is binary. */
const BINARY = 1 / 16

/** Whether a body is binary: so many of its bytes are no text that nobody could read it. */
export function isBinary(bytes: Uint8Array): boolean {
  const text = wholeText(bytes)
  if (text !== undefined && isUsual(text)) return false
  const shown = text ?? new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes)
  const unreadable = shown.match(/(?![\t\n\r])[\p{Cc}\ufffd]/gu)?.length ?? 0
  return unreadable > bytes.length * BINARY && unreadable > 8
}
