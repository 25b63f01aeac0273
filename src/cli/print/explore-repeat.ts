// The command that breaks a program once more as one run of an exploration did.
import { flagOf, SETTINGS } from '../../config.ts'
import { settingsByKey } from '../commands/setting-flags.ts'

/** Words as they are typed into a shell. */
export const shellLine = (words: readonly string[]): string =>
  words.map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`)).join(' ')

/** What no other command needs, or nobody should read. */
const UNSAID = ['db', 'port', 'token', 'json']

/**
 * Tells how a scenario is played again with the command that was explored, under the settings that it was explored with.
 * @param options the flags as they were given
 */
export function repeater(command: readonly string[], options: Record<string, unknown>): (scenario: string) => string {
  const given = Object.entries(settingsByKey(options)).filter(
    ([key, value]) => (key === 'config' || key in SETTINGS) && !UNSAID.includes(key) && value !== undefined,
  )
  const settings = given.flatMap(([key, value]) =>
    value === true
      ? [flagOf(key)]
      : (Array.isArray(value) ? value : [value]).flatMap((one) => [flagOf(key), String(one)]),
  )
  return (scenario) => shellLine(['understudy', 'exec', '--scenario', scenario, ...settings, '--', ...command])
}
