// The flags of commands: those of the settings, derived from their table, and those that exec and explore share, with the
// settings of their temporary server.
import { accessSync, constants, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import type { Command } from 'commander'
import { NOT_EMULATED_APIS } from '../../compat/not-emulated.ts'
import { quoteSetting } from '../../config/file.ts'
import {
  type Config,
  ConfigError,
  type Environment,
  flagOf,
  isFileOnly,
  isList,
  readConfig,
  SETTINGS,
  writtenDefault,
} from '../../config.ts'
import { parseDuration } from '../../lib/units.ts'
import { FileError } from '../../schema/source.ts'
import type { CommandIo } from '../io.ts'
import { rejectOpenHost } from '../run/listen.ts'

/** What the options of commands have that run another one and report on it. */
export interface ReportOptions extends Record<string, unknown> {
  timeout?: string
  hangLimit?: string
  junit?: string
  html?: string
  coverage?: string
  leaveEnv?: string[]
  json?: boolean
  jsonFile?: string
}

/** Options of commands that run another one and report on it. */
export const addReportOptions = (command: Command): Command =>
  command
    .option(
      '--coverage <FILE>',
      'count in this file, across runs, which configured recovery paths (retry, each fallback, ...) were exercised',
    )
    .option(
      '--leave-env <NAME>',
      `do not point this variable to an address that refuses calls: ${NOT_EMULATED_APIS.map(({ variable }) => variable).join(', ')}; repeatable`,
      repeated,
    )
    .option('--json', 'print the report as JSON, on the last line')
    .option('--json-file <FILE>', 'write the report as JSON to this file')

/** The settings as for serve, without those of a separate server: address, database and tokens. */
export function commandConfig(options: Record<string, unknown>, env: Environment): Config {
  const { seed: _, db: _db, json: _json, ...flags } = settingsByKey(options)
  const read = readConfig(flags, env)
  const config: Config = {
    ...read,
    ...{ db: ':memory:', json: false, ready_file: undefined },
    port: flags.port === undefined ? 0 : read.port,
    host: flags.host === undefined ? undefined : read.host,
    token: flags.token === undefined ? [] : read.token,
  }
  rejectOpenHost(config)
  return config
}

/**
 * Checks the settings of a replay once it is known whether there is one. A flag without it is a mistake. What stands in the
 * environment or a file may be for other commands, and is only named.
 * @throws ConfigError for a flag
 */
export function rejectUnusedReplaySettings({ replay, replaySettings }: Config, { log }: Pick<CommandIo, 'log'>): void {
  if (replay !== undefined) return
  for (const { source, value } of replaySettings) {
    const what = `${source}${quoteSetting(value)} has no effect without a replay: use it with --replay DIR, or with record --only NAME`
    if (source.startsWith('--')) throw new ConfigError(what)
    log.line('warn', what)
  }
}

/**
 * The value of a seed flag.
 * @throws ConfigError
 */
export function seedOf(text: string): number {
  if (/^\d+$/.test(text) && Number.isSafeInteger(Number(text))) return Number(text)
  throw new ConfigError(`--seed must be a whole number from 0, got ${JSON.stringify(text)}`)
}

/**
 * The value of a flag for a number.
 * @throws ConfigError that names the flag
 */
export function numberOf(name: string, text: string | undefined, most: number, least = 1): number {
  const number = Number(text)
  if (Number.isInteger(number) && number >= least && number <= most) return number
  throw new ConfigError(`--${name} must be a number from ${least} to ${most}, got ${JSON.stringify(text)}`)
}

/**
 * The value of a time flag, in ms; undefined without the flag.
 * @throws ConfigError that names the flag
 */
export function durationOf(flag: string, text: string): number
export function durationOf(flag: string, text: string | undefined): number | undefined
export function durationOf(flag: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const ms = /[a-z]/i.test(text) ? parseDuration(text) : undefined
  if (ms !== undefined && ms > 0) return ms
  throw new ConfigError(`${flag} must be a duration such as 90s or 10m, got ${JSON.stringify(text)}`)
}

/**
 * Checks the files of flags before the command runs, which may take long.
 * @throws FileError
 */
export function rejectUnwritable(files: Record<string, string | undefined>): void {
  for (const [flag, file] of Object.entries(files)) {
    if (file === undefined) continue
    try {
      accessSync(dirname(resolve(file)), constants.W_OK)
      if (statSync(file, { throwIfNoEntry: false })?.isDirectory()) throw new Error('it is a folder')
    } catch (error) {
      throw new FileError(`${flag} ${JSON.stringify(file)} cannot be written: ${(error as Error).message}`)
    }
  }
}

/** Collects the values of a repeatable flag. */
export const repeated = (value: string, all: string[] | undefined): string[] => [...(all ?? []), value]

/** Adds `--config` and a flag for each setting except the named ones. */
export function addSettingFlags(command: Command, without: readonly string[] = []): void {
  for (const [key, { takes, help, fallback }] of Object.entries(SETTINGS)) {
    if (isFileOnly(key) || without.includes(key)) continue
    const flag = takes ? `${flagOf(key)} <${takes}>` : flagOf(key)
    const standard = fallback === false ? '' : writtenDefault(SETTINGS[key as keyof typeof SETTINGS])
    const text = standard === '' ? help : `${help} (default: ${standard})`
    if (isList(key)) command.option(flag, text, repeated)
    else command.option(flag, text)
  }
  command.option('--config <FILE>', 'settings file (default: understudy.yaml, if it exists)')
}

/** Converts commander's camelCase option names to setting keys. */
export const settingsByKey = (options: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(options).map(([name, value]) => [
      name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
      value,
    ]),
  )
