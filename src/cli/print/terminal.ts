// The width of the terminal, and texts that fit into it.
import { type Printer, wrapVisible } from './output.ts'

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
