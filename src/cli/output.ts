// The one way to standard output and standard error. Much of what is printed was written by others: whatever a terminal or a CI runner would
// act on goes out as an escape. Our own colours are marked until then, so that no text of others can pass for one.
import { styleText } from 'node:util'
import { processSecret, unguessable } from '../lib/ids.ts'
import { once } from '../lib/once.ts'
import { printable, printableJson, printableLine, withoutCommands } from '../lib/printable.ts'

/** A format of `styleText`. */
export type Format = Extract<Parameters<typeof styleText>[0], string>
type Stream = 'stdout' | 'stderr'

/** Stands in each colour of ours, and nowhere else: it never leaves the process. Colours have numbers of few digits. */
const secret = once(() =>
  BigInt(`0x${unguessable(processSecret(), 'colours')}`)
    .toString()
    .replace(/\d{4}(?=\d)/g, '$&;'),
)
/** A colour of ours; it has the form of one, so that it has no width. */
const marked = (code: string) => `\u001b[${code};${secret()}m`
const marks = once(() => new RegExp(`\u001b\\[(\\d+);${secret()}m`))

/** Colours a text where the stream is a terminal that shows colours, for the functions of this file to print. */
export const paintFor =
  (stream: Stream) =>
  (format: Format, text: string): string =>
    // biome-ignore lint/suspicious/noControlCharactersInRegex: colours begin with one
    styleText(format, ' ', { stream: process[stream] }).replace(/ |\x1b\[(\d+)m/g, (_, code?: string) =>
      code === undefined ? text : marked(code),
    )
/** Colours a text for standard output. */
export const paint = paintFor('stdout')

/** A line as it is shown: what others have written in it is visible and on one line, our colours are colours. */
const visibleLine = (line: string): string =>
  line
    .split(marks())
    .map((part, index) => (index % 2 === 1 ? `\u001b[${part}m` : printableLine(part)))
    .join('')

/** A line broken by `wrap`, which gets it as it is shown. */
export const wrapVisible = (line: string, wrap: (visible: string) => string[]): string[] =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: colours begin with one
  wrap(visibleLine(line)).map((part) => part.replace(/\x1b\[(\d+)m/g, (_, code: string) => marked(code)))

/** A line as it is printed. */
export const safeLine = (line: string): string =>
  withoutCommands(line.includes('\u001b') ? visibleLine(line) : printableLine(line))

/** Prints a text of one or more lines, without colours. */
export const printText = (text: string): void => console.log(withoutCommands(printable(text)))

/** Prints lines, each as one. */
export const printLines = (lines: readonly string[]): void => {
  if (lines.length > 0) console.log(lines.map((line) => safeLine(line)).join('\n'))
}

/** Prints a value as JSON, in one line or so far indented. */
export const printJson = (value: unknown, indent?: number): void => console.log(printableJson(value, indent))

/** Prints a line on standard error, at once. */
export const printError = (line: string): void => console.error(safeLine(line))

/** Writes over the line of standard error that was written last; for terminals alone. */
export const overwrite = (line: string): void => void process.stderr.write(`\r\u001b[2K${safeLine(line)}`)

/** Passes on, on standard error, what a command has printed: that is its own. */
export const printOutput = (output: string): void => void process.stderr.write(output)
