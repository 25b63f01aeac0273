// What a workflow gives the action, read once and refused where it makes no sense.
import { accessSync, constants, mkdirSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { getInput, getMultilineInput } from '@actions/core'

export const MODES = ['serve', 'exec', 'explore'] as const
export type Mode = (typeof MODES)[number]

/** The inputs of `action.yml`. */
export interface Inputs {
  mode: Mode
  run: string
  /** Flags of the command of that mode. */
  flags: string[]
  cwd: string
  /** Name of the artifact; undefined for none. */
  reportName: string | undefined
}

const flagged = (flag: string, values: readonly string[]) => values.flatMap((value) => [flag, value])

/** Reads the inputs; throws an `Error` that names the one that is wrong. */
export function readInputs(): Inputs {
  const run = getInput('run').trim()
  const mode = modeOf(getInput('mode'), run)
  const scenarios = getMultilineInput('scenario')
  if (mode === 'explore' && scenarios.length > 0) {
    throw new Error("'scenario' cannot be used with mode explore, which injects every fault")
  }
  const flags = [
    ...flagged('--scenario', scenarios),
    ...flagged('--fixtures', getMultilineInput('fixtures')),
    ...getMultilineInput('args'),
  ]
  return { mode, run, flags, cwd: workingDirectory(), reportName: reportName() }
}

/** The folder to run in; throws an `Error` when there is none of that name, or it cannot be entered. */
function workingDirectory(): string {
  const given = getInput('working-directory') || '.'
  const folder = resolve(given)
  const refused = (why: string) => new Error(`'working-directory' ${JSON.stringify(given)} is not valid: ${why}`)
  const found = statSync(folder, { throwIfNoEntry: false })
  if (!found) throw refused(`${folder} does not exist`)
  if (!found.isDirectory()) throw refused(`${folder} is not a folder`)
  try {
    accessSync(folder, constants.X_OK)
  } catch (error) {
    throw refused((error as Error).message)
  }
  return folder
}

function modeOf(given: string, run: string): Mode {
  const mode = MODES.find((one) => one === (given || (run === '' ? 'serve' : 'exec')))
  if (!mode) throw new Error(`'mode' ${JSON.stringify(given)} is not valid; valid: ${MODES.join(', ')}`)
  if (mode === 'serve' && run !== '') throw new Error("'run' requires mode exec or explore: serve runs no command")
  if (mode !== 'serve' && run === '') throw new Error(`mode ${mode} requires 'run', the command`)
  return mode
}

/** Name of the artifact that the report becomes; undefined for none. */
export function reportName(): string | undefined {
  const name = getInput('report-name') || 'understudy.html'
  if (name === 'none') return undefined
  return name.endsWith('.html') ? name : `${name}.html`
}

/** A folder of the runner's for what we leave; it goes with the job. */
export function workFolder(): string {
  const folder = join(process.env.RUNNER_TEMP ?? '.', 'understudy')
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  return folder
}
