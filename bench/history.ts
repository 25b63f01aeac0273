// bench/history.md: a line for each time a figure was claimed.
import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import { commitOf, isChanged } from './compile.ts'
import { machineKind } from './machine.ts'
import type { Options } from './options.ts'
import type { Line } from './table.ts'

const FILE = join(import.meta.dir, 'history.md')

/** Columns of figures, and what was measured for each, in order. */
const COLUMNS: readonly (readonly string[])[] = [
  ['whole, 1', 'whole, 16', 'whole, 64'],
  ['stream, 1', 'stream, 16'],
  ['p99 whole, 16'],
  ['forward whole, 16', 'forward whole, 64', 'forward stream, 16'],
  ['forward, added p50', 'forward, first event later by', 'forward, first event of a direct call later by'],
  ['cold start to the first answer'],
  ['memory, idle', 'memory, 20,000 calls'],
  ['session: memory', 'session: first call in a new one'],
  ['explore, one call', 'explore, four calls'],
  ['explore, runs a minute, 1 job', 'explore, runs a minute, 2 jobs', 'explore, runs a minute, 4 jobs'],
  ['recording, forward whole, 16', 'recording, forward stream, 16'],
  ['recording until written, forward whole, 16', 'recording until written, forward stream, 16'],
]

/** Appends what Understudy reached. */
export function record(lines: readonly Line[], { rounds, seconds }: Options): string {
  const figureOf = (measured: string) =>
    lines.find((line) => line.measured === measured && line.server === 'own')?.figure ?? '-'
  const figures = COLUMNS.map((column) => column.map(figureOf).join(' / '))
  const commit = `${commitOf('HEAD')}${isChanged() ? ' and changes' : ''}`
  const date = new Date().toISOString().slice(0, 10)
  const cells = [date, commit, machineKind(), `${rounds} x ${seconds} s`, ...figures]
  const line = `| ${cells.join(' | ')} |`
  appendFileSync(FILE, `${line}\n`)
  return line
}
