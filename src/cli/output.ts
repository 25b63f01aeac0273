// The one way to standard output and standard error. Much of what is printed was written by others: whatever a terminal or a CI runner would
// act on goes out as an escape, but for our own colours.
import { styleText } from 'node:util'
import { printable, printableJson, printableLine, withoutCommands } from '../lib/printable.ts'

/** A format of `styleText`. */
export type Format = Extract<Parameters<typeof styleText>[0], string>
type Stream = 'stdout' | 'stderr'

/** Colours a text where the stream is a terminal that shows colours. */
export const paintFor =
  (stream: Stream) =>
  (format: Format, text: string): string =>
    styleText(format, text, { stream: process[stream] })
/** Colours a text for standard output. */
export const paint = paintFor('stdout')

/** The colours that are ours: bold, dim, six colours, and their ends. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: colours begin with one
const COLOURS = /(\x1b\[(?:1|2|22|3[1-6]|39)m)/

/** A line of ours as it may be cut and broken: what others have written in it is visible and on one line, our colours stay. */
export const visibleLine = (line: string): string =>
  line
    .split(COLOURS)
    .map((part, index) => (index % 2 === 1 ? part : printableLine(part)))
    .join('')

const isColoured = (stream: Stream) => paintFor(stream)('bold', '') !== ''
/** A line as it is printed; nothing is coloured where a stream shows no colours. */
export const safeLine = (line: string, stream: Stream = 'stdout'): string =>
  withoutCommands(line.includes('\u001b') && isColoured(stream) ? visibleLine(line) : printableLine(line))

/** Prints a text of one or more lines, without colours. */
export const printText = (text: string): void => console.log(withoutCommands(printable(text)))

/** Prints lines, each as one. */
export const printLines = (lines: readonly string[]): void => {
  if (lines.length > 0) console.log(lines.map((line) => safeLine(line)).join('\n'))
}

/** Prints a value as JSON, in one line or so far indented. */
export const printJson = (value: unknown, indent?: number): void => console.log(printableJson(value, indent))

/** Prints a line on standard error, at once. */
export const printError = (line: string): void => console.error(safeLine(line, 'stderr'))

/** Writes over the line of standard error that was written last; for terminals alone. */
export const overwrite = (line: string): void => void process.stderr.write(`\r\u001b[2K${safeLine(line, 'stderr')}`)

/** Passes on, on standard error, what a command has printed: that is its own. */
export const printOutput = (output: string): void => void process.stderr.write(output)
