// The command that reproduces one case of an exploration.
import { flagOf, SETTINGS } from '../../config.ts'
import { settingsByKey } from '../commands/setting-flags.ts'

/** A command line for a shell. */
export const shellLine = (words: readonly string[]): string =>
  words.map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`)).join(' ')

/** Settings that other commands do not need, or that must not be printed. */
const UNSAID = ['db', 'port', 'token', 'json']

/**
 * Returns the command that runs one case of the explored command again, under the same settings.
 * @param options the flags of the exploration
 */
export function repeater(
  command: readonly string[],
  options: Record<string, unknown> & { timeout?: string; hangLimit?: string; leaveEnv?: readonly string[] },
): (caseId: string) => string {
  const flags = Object.entries(settingsByKey(options)).filter(
    ([key, value]) => (key === 'config' || key in SETTINGS) && !UNSAID.includes(key) && value !== undefined,
  )
  const settings = flags.flatMap(([key, value]) =>
    value === true
      ? [flagOf(key)]
      : (Array.isArray(value) ? value : [value]).flatMap((one) => [flagOf(key), String(one)]),
  )
  const { timeout, hangLimit, leaveEnv = [] } = options
  const limits = [
    ...(timeout === undefined ? [] : ['--timeout', timeout]),
    ...(hangLimit === undefined ? [] : ['--hang-limit', hangLimit]),
  ]
  const left = leaveEnv.flatMap((name) => ['--leave-env', name])
  const flagsOfCase = [...limits, ...left, ...settings]
  return (caseId) => shellLine(['understudy', 'explore', '--case', caseId, ...flagsOfCase, '--', ...command])
}
