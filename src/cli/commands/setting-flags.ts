// The flags of the settings, derived from their table, for serve and exec.
import type { Command } from 'commander'
import { flagOf, isFileOnly, isList, SETTINGS } from '../../config.ts'

/** Defaults with a unit, as people write them. */
const AS_WRITTEN: Record<string, string> = {
  max_body: '32MiB',
  max_response: '64MiB',
  max_recorded: '8MiB',
  client_timeout: '2m',
  drain_timeout: '5s',
  keep_trace_bytes: '256MiB',
  keep_response_bytes: '128MiB',
}

/** Collects the values of a repeatable flag. */
export const repeated = (value: string, all: string[] | undefined): string[] => [...(all ?? []), value]

/** Adds `--config` and a flag for each setting except the named ones. */
export function addSettingFlags(command: Command, without: readonly string[] = []): void {
  for (const [key, { takes, help, fallback }] of Object.entries(SETTINGS)) {
    if (isFileOnly(key) || without.includes(key)) continue
    const flag = takes ? `${flagOf(key)} <${takes}>` : flagOf(key)
    const standard = fallback === undefined || fallback === false || (Array.isArray(fallback) && fallback.length === 0)
    const text = standard ? help : `${help} (default: ${AS_WRITTEN[key] ?? fallback})`
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
