// The one way to standard output and standard error. Much of what is printed was written by others: whatever a terminal or a CI runner would
// act on goes out as an escape. Our own colours are marked until then, so that no text of others can pass for one, and are dropped where the
// stream does not show them.
import { styleText } from 'node:util'
import { processSecret, unguessable } from '../../lib/ids.ts'
import { once } from '../../lib/once.ts'
import { printable, printableJson, printableLine, withoutCommands } from '../../lib/printable.ts'

/** A format of `styleText`. */
export type Format = Extract<Parameters<typeof styleText>[0], string>

/** What a command prints on: a stream of the process, or the text of a test. */
export interface OutputStream {
  /** Whether a person reads along. */
  readonly isTTY: boolean
  /** Columns of the terminal; anything where it is no terminal. */
  readonly columns: number
  /** Whether it shows colours. */
  readonly colours: boolean
  /** Writes a text and a line feed, at once. */
  writeLine(text: string): void
  /** Writes a text as it is. */
  write(text: string): void
}

/** Prints on one stream, whatever is printed made safe for it. */
export interface Printer {
  /** Columns of the terminal, as it says itself; undefined where it is none, as in a pipe. */
  readonly columns: number | undefined
  /** Columns that lines are broken for; undefined where no person reads along. */
  readonly width: number | undefined
  readonly isTTY: boolean
  /** Prints a line. */
  line(line: string): void
  /** Prints lines, each as one. */
  lines(lines: readonly string[]): void
  /** Prints a text of one or more lines, without colours. */
  text(text: string): void
  /** Prints a value as JSON, in one line or so far indented. */
  json(value: unknown, indent?: number): void
  /** Writes over the line that was written last; for terminals alone. */
  overwrite(line: string): void
  /** Passes on what a command of others has printed, or a help that is ours: as it is. */
  raw(output: string): void
}

/** Fewest columns that a line is broken for. */
const NARROWEST = 40

/** What prints on a stream. */
export function printer(stream: OutputStream): Printer {
  const safe = (line: string) => safeLine(line, stream.colours)
  const lines = (some: readonly string[]) => {
    if (some.length > 0) stream.writeLine(some.map(safe).join('\n'))
  }
  const columns = () => (stream.isTTY ? stream.columns : undefined)
  return {
    get columns() {
      return columns()
    },
    get width() {
      const all = columns() ?? 0
      return all > 0 ? Math.max(NARROWEST, all) : undefined
    },
    get isTTY() {
      return stream.isTTY
    },
    line: (line) => lines([line]),
    lines,
    text: (text) => stream.writeLine(withoutCommands(printable(text))),
    json: (value, indent) => stream.writeLine(printableJson(value, indent)),
    overwrite: (line) => stream.write(`\r\u001b[2K${safe(line)}`),
    raw: (output) => stream.write(output),
  }
}

/** Stands in each colour of ours, and nowhere else: it never leaves the process. Colours have numbers of few digits. */
const secret = once(() =>
  BigInt(`0x${unguessable(processSecret(), 'colours')}`)
    .toString()
    .replace(/\d{4}(?=\d)/g, '$&;'),
)
/** A colour of ours; it has the form of one, so that it has no width. */
const marked = (code: string) => `\u001b[${code};${secret()}m`
const marks = once(() => new RegExp(`\u001b\\[(\\d+);${secret()}m`))

/** Colours a text, which is shown where it is printed on a stream that has colours. */
export const paint = (format: Format, text: string): string =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: colours begin with one
  styleText(format, ' ', { validateStream: false }).replace(/ |\x1b\[(\d+)m/g, (_, code?: string) =>
    code === undefined ? text : marked(code),
  )

/** A line as it is shown: what others have written in it is visible and on one line, our colours are colours, or are dropped. */
const visibleLine = (line: string, colours: boolean): string =>
  line
    .split(marks())
    .map((part, index) => (index % 2 === 0 ? printableLine(part) : colours ? `\u001b[${part}m` : ''))
    .join('')

/** A line broken by `wrap`, which gets it as it is shown. */
export const wrapVisible = (line: string, wrap: (visible: string) => string[]): string[] =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: colours begin with one
  wrap(visibleLine(line, true)).map((part) => part.replace(/\x1b\[(\d+)m/g, (_, code: string) => marked(code)))

/** A line as it is printed, with our colours or without. */
export const safeLine = (line: string, colours: boolean): string =>
  withoutCommands(line.includes('\u001b') ? visibleLine(line, colours) : printableLine(line))
