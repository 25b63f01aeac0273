// What commands say of themselves on standard error: lines for people, or with --log json a line of JSON each.

import type { Understudy } from '../../deps.ts'
import { lazy } from '../../lib/lazy.ts'
import { once } from '../../lib/once.ts'
import { FileError } from '../../schema/source.ts'
import type { MakeLineWriter } from './line-writer.ts'

/** How grave a line is. */
type LogLevel = 'info' | 'warn' | 'error'

/** What a command says of itself while it runs; nobody waits for who reads it. */
export interface Log {
  /** Whether every line is to be JSON. */
  readonly isJson: boolean
  /** Chooses the form of all lines from now on: JSON for `json`, else for people. */
  useFormat(format: 'json' | undefined): void
  /**
   * Prints a line.
   * @param message without our name before it; `prefix` stands before it for people alone
   * @param fields more of the JSON
   */
  line(level: LogLevel, message: string, fields?: { prefix?: string; [field: string]: unknown }): void
  /** Prints a line for people, whatever the form of the others is. */
  plain(line: string): void
  /** Prints what went wrong while calls are answered: a file with a mistake in lines, what is a bug with its stack. */
  report(error: unknown): void
  /** Prints a line about a setting or a scenario that is not followed. */
  notice(line: string, level?: LogLevel): void
  /** Begins to print a line of JSON for each call of a server. */
  calls(understudy: Pick<Understudy, 'observers' | 'telemetry'>): void
}

// Brings what most starts do not need.
const jsonLog = lazy<typeof import('./json-log.ts')>(() => require('./json-log.ts'))

/** A log for people, until another format is chosen. */
export function createLog(makeWriter: MakeLineWriter): Log {
  const plainLines = once(() => makeWriter((count) => `understudy: ${count} log lines dropped`))
  // One writer for all lines of JSON: two would write into the midst of each other's.
  const jsonLines = once(() => makeWriter(jsonLog().leftOut))
  let isJson = false
  const plain = (line: string) => plainLines().add(line)
  const line: Log['line'] = (level, message, { prefix = '', ...fields } = {}) => {
    if (isJson) jsonLines().add(jsonLine(level, message, fields))
    else plain(`understudy: ${prefix}${message}`)
  }
  const notice: Log['notice'] = (message, level = 'warn') => line(level, message)
  return {
    get isJson() {
      return isJson
    },
    useFormat(format) {
      isJson = format === 'json'
    },
    line,
    plain,
    notice,
    report(error) {
      if (error instanceof FileError) {
        for (const problem of error.problems) notice(problem, 'error')
      } else if (!isJson) {
        // The stack alone: the runtime would print the lines around it, which in the executable are pages of packed code.
        const text = error instanceof Error ? error.stack || String(error) : String(error)
        for (const one of text.split('\n')) plain(one)
      } else if (error instanceof Error) line('error', error.message, { stack: error.stack })
      else line('warn', String(error).replace(/^understudy: /, ''))
    },
    calls: (understudy) => jsonLog().logCallsAsJson(understudy, jsonLines()),
  }
}

/** A line as JSON, for what is printed elsewhere. */
export const jsonLine = (level: LogLevel, message: string, fields: Record<string, unknown>): string =>
  jsonLog().lineWith(level, message, fields)
