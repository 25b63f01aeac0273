// The command that reproduces one case of an exploration.
import { flagOf, SETTINGS } from '../../config.ts'
import type { CaseResult } from '../../contract/core/exploration.ts'
import { shellLine } from '../../lib/shell-line.ts'
import { settingsByKey } from '../commands/command-flags.ts'

type RepeatOptions = Record<string, unknown> & {
  timeout?: string
  hangLimit?: string
  leaveEnv?: readonly string[]
}

/** Settings that other commands do not need, or that must not be printed. */
const UNSAID = ['db', 'port', 'token', 'json']

/** The flags of an exploration that other runs of the same command need. */
function flagsOf(options: RepeatOptions): string[] {
  const flags = Object.entries(settingsByKey(options)).filter(
    ([key, value]) => (key === 'config' || key in SETTINGS) && !UNSAID.includes(key) && value !== undefined,
  )
  const settings = flags.flatMap(([key, value]) =>
    value === true
      ? [flagOf(key)]
      : (Array.isArray(value) ? value : [value]).flatMap((one) => [flagOf(key), String(one)]),
  )
  return [...(options.leaveEnv ?? []).flatMap((name) => ['--leave-env', name]), ...settings]
}

/**
 * Returns the command that runs one case of the explored command again, under the same settings.
 * @param options the flags of the exploration
 */
export function repeater(command: readonly string[], options: RepeatOptions): (caseId: string) => string {
  const { timeout, hangLimit } = options
  const limits = [
    ...(timeout === undefined ? [] : ['--timeout', timeout]),
    ...(hangLimit === undefined ? [] : ['--hang-limit', hangLimit]),
  ]
  const flags = [...limits, ...flagsOf(options)]
  return (caseId) => shellLine(['understudy', 'explore', '--case', caseId, ...flags, '--', ...command])
}

/**
 * Returns the command that runs the explored command under a scenario file of a case.
 * @param options the flags of the exploration
 */
export const scenarioRepeater =
  (command: readonly string[], options: RepeatOptions) =>
  (file: string): string =>
    shellLine(['understudy', 'exec', '--scenario', file, ...flagsOf(options), '--', ...command])

/**
 * Whether `exec` judges the scenario of a case as the exploration does. It has no baseline run, so that it knows only
 * that the command fails.
 */
export const isJudgedAlone = ({ verdict, derived }: Pick<CaseResult, 'verdict' | 'derived'>): boolean =>
  !derived && (verdict === 'failed' || verdict === 'crashed')
