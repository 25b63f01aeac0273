// The only way to standard output and standard error. Much of the output is untrusted text: anything that a terminal or
// a CI runner would interpret is escaped. Our own colors are marked until then, so that untrusted text cannot imitate
// them, and are dropped if the stream does not show them.
import type { styleText } from 'node:util'
import { processSecret, unguessable } from '../../lib/ids.ts'
import { lazy } from '../../lib/lazy.ts'
import { once } from '../../lib/once.ts'
import { printable, printableJson, printableLine, withoutCommands } from '../../lib/printable.ts'

/** A format of `styleText`. */
export type Format = Extract<Parameters<typeof styleText>[0], string>

/** The target of a command's output: a stream of the process, or the text of a test. */
export interface OutputStream {
  /** Whether it is a terminal. */
  readonly isTTY: boolean
  /** Columns of the terminal; meaningless without one. */
  readonly columns: number
  /** Whether it shows colors. */
  readonly colours: boolean
  /** Writes a text and a line feed, synchronously. */
  writeLine(text: string): void
  /** Writes a text unchanged. */
  write(text: string): void
}

/** Prints on one stream with all text escaped. */
export type Printer = ReturnType<typeof printer>

// Loaded with the first color.
const util = lazy<typeof import('node:util')>(() => require('node:util'))

/** Whether a stream of the process shows colors. */
export const showsColours = (stream: NodeJS.WriteStream): boolean => util().styleText('red', ' ', { stream }) !== ' '

/** Minimum number of columns to which a line is wrapped. */
const NARROWEST = 40

/** A printer for a stream. */
export function printer(stream: OutputStream) {
  const safe = (line: string) => safeLine(line, () => stream.colours)
  const lines = (some: readonly string[]) => {
    if (some.length > 0) stream.writeLine(some.map(safe).join('\n'))
  }
  const columns = () => (stream.isTTY ? stream.columns : undefined)
  return {
    /** Columns of the terminal; undefined without one, as in a pipe. */
    get columns() {
      return columns()
    },
    /** Columns to which lines are wrapped; undefined without a terminal. */
    get width() {
      const all = columns() ?? 0
      return all > 0 ? Math.max(NARROWEST, all) : undefined
    },
    get isTTY() {
      return stream.isTTY
    },
    line: (line: string) => lines([line]),
    lines,
    /** Prints a text of one or more lines, without colors. */
    text: (text: string) => stream.writeLine(withoutCommands(printable(text))),
    /** Prints a value as JSON, in one line or indented. */
    json: (value: unknown, indent?: number) => stream.writeLine(printableJson(value, indent)),
    /** Overwrites the last line; only for terminals. */
    overwrite: (line: string) => stream.write(`\r\u001b[2K${safe(line)}`),
    /** Prints the output of another command or our own help unchanged. */
    raw: (output: string) => stream.write(output),
  }
}

/** Marks our own colors, and never leaves the process. Colors have numbers of few digits. */
const secret = once(() =>
  BigInt(`0x${unguessable(processSecret(), 'colours')}`)
    .toString()
    .replace(/\d{4}(?=\d)/g, '$&;'),
)
/** One of our colors. It has the form of a color code, so that it has no width. */
const marked = (code: string) => `\u001b[${code};${secret()}m`
const marks = once(() => new RegExp(`\u001b\\[(\\d+);${secret()}m`))

/** Colors a text. The color is shown if the stream supports it. */
export const paint = (format: Format, text: string): string =>
  util()
    .styleText(format, ' ', { validateStream: false })
    // biome-ignore lint/suspicious/noControlCharactersInRegex: colours begin with one
    .replace(/ |\x1b\[(\d+)m/g, (_, code?: string) => (code === undefined ? text : marked(code)))

/** A line as shown: untrusted text is visible and on one line, our colors are applied or dropped. */
const visibleLine = (line: string, colours: () => boolean): string =>
  line
    .split(marks())
    .map((part, index) => (index % 2 === 0 ? printableLine(part) : colours() ? `\u001b[${part}m` : ''))
    .join('')

/** A line wrapped by `wrap`, which receives it as shown. */
const wrapVisible = (line: string, wrap: (visible: string) => string[]): string[] =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: colours begin with one
  wrap(visibleLine(line, () => true)).map((part) => part.replace(/\x1b\[(\d+)m/g, (_, code: string) => marked(code)))

/** A line as printed; whether our colors are shown is asked only if it has some, since that opens the stream. */
export const safeLine = (line: string, colours: () => boolean): string =>
  withoutCommands(line.includes('\u001b') ? visibleLine(line, colours) : printableLine(line))

/** Default width: that of CI logs. */
const UNKNOWN_WIDTH = 120

/** Columns for drawings, with or without a terminal. */
export const drawingWidth = ({ width }: Pick<Printer, 'width'>): number => width ?? UNKNOWN_WIDTH

/** A text of exactly so many columns: padded with spaces, or cut with an ellipsis at its end or start. */
export function fitText(text: string, width: number, cut: 'end' | 'start' = 'end'): string {
  if (text.length <= width) return text.padEnd(width)
  return cut === 'end' ? `${text.slice(0, width - 1)}…` : `…${text.slice(text.length - width + 1)}`
}

/** A line with colors, wrapped between words on a terminal. Continuations are indented by `indent` columns. */
export function wrapLine(line: string, width: number | undefined, indent: number): string[] {
  if (width === undefined) return [line]
  return wrapVisible(line, (visible) => {
    if (Bun.stringWidth(visible) <= width) return [visible]
    // The first line keeps its spaces. The rest is wrapped again, to fewer columns.
    const [first = '', ...rest] = Bun.wrapAnsi(visible, width, { hard: true, trim: false }).split('\n')
    const more = Bun.wrapAnsi(rest.join(''), width - indent, { hard: true }).split('\n')
    return [first.trimEnd(), ...more.map((text) => `${' '.repeat(indent)}${text}`)]
  })
}

/** The lines of a text wrapped between words. A word that is longer than a line is broken anywhere. */
export function wrapText(text: string, width: number): string[] {
  const lines: string[] = []
  for (const word of text.split(/\s+/).filter((one) => one !== '')) {
    const last = lines.at(-1)
    if (last !== undefined && last.length + 1 + word.length <= width) {
      lines[lines.length - 1] = `${last} ${word}`
      continue
    }
    for (let from = 0; from < word.length; from += width) lines.push(word.slice(from, from + width))
  }
  return lines
}
