// Values as YAML for review: a text of several lines is a block, and the same value always has the same text.
import { MAX_DEPTH } from '../lib/nesting.ts'
import type { JsonObject } from '../lib/values.ts'

/** Text that needs no quotes: it begins with a letter, and YAML cannot take it for anything else. Most texts are ASCII, which is faster. */
const PLAIN_ASCII = /^[A-Za-z/<][\x20-\x7e]*$/
const PLAIN = /^[\p{L}/<][\p{L}\p{M}\p{N}\p{P}\p{S} ]*$/u
const NOT_PLAIN = /: |:$| #| $|^(?:true|false|null|yes|no|on|off|y|n)$/i
/** A checksum or the beginning of one, which is not a number. */
const CHECKSUM = /^(?=.*[a-df])[0-9a-f]{8,64}$/
/** Characters that no text contains unescaped: those of `frames.ts`, and a carriage return. */
const UNWRITTEN = /(?![\t\n\u200c\u200d])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\ufffe\uffff]/u
const UNWRITTEN_IN_QUOTES =
  /(?![\u200c\u200d])[\x7f-\uffff](?<=[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\ufffe\uffff])|[\u{10000}-\u{10ffff}](?<=\p{Cf})/gu
/** What a block does not keep: white space at the end of a line, which editors remove, and at its beginning. */
const NOT_BLOCK = /[ \t](?:\n|$)|^\n*[ \t]/
const PRINTABLE_ASCII = /^[\x20-\x7e]*$/
const LONG = 60
const PLAIN_KEY = /^[A-Za-z_][\w-]*$/

const unicode = (character: string): string => {
  const code = character.codePointAt(0) ?? 0
  return code > 0xffff ? `\\U${code.toString(16).padStart(8, '0')}` : `\\u${code.toString(16).padStart(4, '0')}`
}
function quoted(text: string): string {
  const json = JSON.stringify(text)
  return PRINTABLE_ASCII.test(json) ? json : json.replace(UNWRITTEN_IN_QUOTES, unicode)
}

/**
 * A text as it follows a key or a dash, with a space or a line feed in front.
 * @param pad the indentation of the lines of a block
 * @example
 * scalarText('hello', '  ') // => ' hello'
 * scalarText('a\nb', '  ') // => ' |-\n  a\n  b'
 */
export function scalarText(written: string, pad: string): string {
  const text = written.toWellFormed()
  if (((PLAIN_ASCII.test(text) || PLAIN.test(text)) && !NOT_PLAIN.test(text)) || CHECKSUM.test(text)) return ` ${text}`
  const hasLines = text.includes('\n')
  const isBlock =
    (hasLines || text.length > LONG) && !UNWRITTEN.test(text) && !NOT_BLOCK.test(text) && /[^\n]/.test(text)
  if (isBlock) return ` ${blockHead(text)}${blockLines(text, pad)}`
  if (!hasLines) return ` ${quoted(text)}`
  // Each line of the text in a line of its own; a space at the start of a line would be lost.
  const lines = text.split('\n').map((line, index) => {
    const inner = quoted(line).slice(1, -1)
    return index > 0 && inner.startsWith(' ') ? `\\${inner}` : inner
  })
  return ` "${lines.join(`\\n\\\n${pad}`)}"`
}

const blockHead = (text: string) => (!text.endsWith('\n') ? '|-' : /[^\n]\n$/.test(text) ? '|' : '|+')
/** Lines with their indentation. Blank ones have none. A loop takes a quarter of the time of a regular expression. */
function blockLines(text: string, pad: string): string {
  const length = text.endsWith('\n') ? text.length - 1 : text.length
  let lines = ''
  for (let at = 0; at <= length; ) {
    const found = text.indexOf('\n', at)
    const end = found < 0 ? length : found
    lines += end > at ? `\n${pad}${text.slice(at, end)}` : '\n'
    at = end + 1
  }
  return lines
}

/** A block of lines that end with a line feed, whatever they contain. */
export const blockText = (lines: string, pad: string): string => ` |${blockLines(lines, pad)}`

const keyText = (name: string) => (PLAIN_KEY.test(name) && !NOT_PLAIN.test(name) ? name : quoted(name.toWellFormed()))

/**
 * A JSON value as it follows a key, with a space or a line feed in front. Lone surrogates become U+FFFD.
 * @param first what stands before the first item or field
 * @example
 * valueText({ a: [1, { b: 'c' }] }, '  ') // => '\n  a:\n    - 1\n    - b: c'
 */
export function valueText(value: unknown, pad: string, first = `\n${pad}`): string {
  if (typeof value === 'string') return scalarText(value, pad)
  if (typeof value !== 'object' || value === null) return ` ${JSON.stringify(value) ?? 'null'}`
  // An object or a list in a list begins on the line of its dash.
  let text = ''
  if (Array.isArray(value)) {
    if (value.length > 0 && value.every((item) => typeof item === 'number'))
      return ` ${JSON.stringify(value).replaceAll(',', ', ')}`
    for (const item of value) text += `${text ? `\n${pad}` : first}-${valueText(item, `${pad}  `, ' ')}`
    return text || ' []'
  }
  for (const name of Object.keys(value)) {
    const inner = (value as JsonObject)[name]
    if (inner !== undefined) text += `${text ? `\n${pad}` : first}${keyText(name)}:${valueText(inner, `${pad}  `)}`
  }
  return text || ' {}'
}

/** Levels, values and characters of a key up to which a value is written as YAML. */
const [MAX_LEVELS, MAX_VALUES, MAX_KEY] = [Math.min(100, MAX_DEPTH), 20_000, 500]

/** Whether a value can be read again from YAML, and in little time. Other values are written as JSON. */
export function fitsYaml(value: unknown): boolean {
  let values = 0
  const fits = (inner: unknown, depth: number): boolean => {
    if (++values > MAX_VALUES || depth > MAX_LEVELS) return false
    if (typeof inner !== 'object' || inner === null) return typeof inner !== 'bigint'
    if (Array.isArray(inner)) return inner.every((item) => fits(item, depth + 1))
    return Object.keys(inner).every((name) => name.length <= MAX_KEY && fits((inner as JsonObject)[name], depth + 1))
  }
  return fits(value, 0)
}
