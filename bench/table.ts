// The table that the bench prints.

/** One figure of one server; cells that do not apply are left out. */
export interface Line {
  /** What was measured; lines of the same follow each other. */
  measured: string
  server: string
  figure: string
  /** The least and the most of the rounds. */
  spread?: string | undefined
  /** What Understudy should reach. */
  goal?: string | undefined
  'calls/s'?: string | undefined
  'CPU us/call'?: string | undefined
  /** That of the thread that answers. */
  'answering us/call'?: string | undefined
  /** The share of its core that the server took. */
  core?: string | undefined
  sends?: string | undefined
  'p99 ms'?: string | undefined
}

const COLUMNS = [
  'measured',
  'server',
  'figure',
  'spread',
  'goal',
  'calls/s',
  'CPU us/call',
  'answering us/call',
  'core',
  'sends',
  'p99 ms',
] as const

/** The lines as a table of Markdown, in columns. */
export function tableOf(lines: readonly Line[]): string {
  const cells = lines.map((line, index) => {
    const again = lines[index - 1]?.measured === line.measured
    return COLUMNS.map((column) => (column === 'measured' && again ? '' : (line[column] ?? '')))
  })
  const widths = COLUMNS.map((column, index) => Math.max(column.length, ...cells.map((row) => row[index]?.length ?? 0)))
  const rowOf = (row: readonly string[]) =>
    `| ${row.map((cell, index) => (index < 2 ? cell.padEnd(widths[index] ?? 0) : cell.padStart(widths[index] ?? 0))).join(' | ')} |`
  const rule = `|${widths.map((width, index) => (index < 2 ? '-'.repeat(width + 2) : `${'-'.repeat(width + 1)}:`)).join('|')}|`
  return [rowOf(COLUMNS), rule, ...cells.map(rowOf)].join('\n')
}

/** A share of 1 as percent. */
export const percent = (share: number): string => `${(share * 100).toFixed(1)} %`

/** Times, with as many decimals as tell two of them apart. */
export const milliseconds = (value: number): string =>
  `${value.toFixed(Math.abs(value) < 1 ? 3 : Math.abs(value) < 20 ? 2 : 1)} ms`
