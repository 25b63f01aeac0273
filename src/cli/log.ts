// What commands say of themselves on standard error: lines for people, or with --log json a line of JSON each.
import { lazy } from '../lib/lazy.ts'
import { printLine } from './line-writer.ts'

/** How grave a line is. */
export type LogLevel = 'info' | 'warn' | 'error'

// Brings what most starts do not need.
const jsonLog = lazy<typeof import('./json-log.ts')>(() => require('./json-log.ts'))
/** Standard error is one for the whole process, and so is its form: it is chosen once, at the start. */
let json = false

/** Chooses the form of all lines from now on: JSON for `json`, else for people. */
export function useLogFormat(format: 'json' | undefined): void {
  json = format === 'json'
}

/** Whether every line is to be JSON. */
export const logsJson = (): boolean => json

/**
 * Prints a line on standard error.
 * @param message without our name before it; `prefix` stands before it for people alone
 * @param fields more of the JSON
 */
export function logLine(
  level: LogLevel,
  message: string,
  { prefix = '', ...fields }: { prefix?: string; [field: string]: unknown } = {},
): void {
  if (json) jsonLog().addLine(level, message, fields)
  else printLine(`understudy: ${prefix}${message}`)
}

/** A line as JSON, for what is printed elsewhere. */
export const jsonLine = (level: LogLevel, message: string, fields: Record<string, unknown>): string =>
  jsonLog().lineWith(level, message, fields)
