// The state of an exploration for --resume: a line for the command, then one for each result, appended as it is found.
import { appendFileSync, existsSync, readFileSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import { ConfigError } from '../../config.ts'
import { caseName } from '../../contract/core/exploration.ts'
import { FORMATS } from '../../contract/core/formats.ts'
import type { TriedCase } from '../../exploration/trial.ts'
import { makePrivateFolder } from '../../lib/private-files.ts'
import { isObject } from '../../lib/values.ts'
import { writeOutputFile } from '../print/output-file.ts'

/** The file in the folder of an exploration. */
const STATE_FILE = 'state.jsonl'
const STATE_VERSION = FORMATS.exploration_state

/** The first line: what the results belong to. */
interface StateHead {
  command: readonly string[]
  seed: number
}

/**
 * Opens the state in a folder, which is created if necessary.
 * @param warn called once if a result cannot be written, as on a full disk: the exploration continues
 * @throws ConfigError if the state to resume is missing, invalid or that of another command
 */
export function keptState(
  folder: string,
  about: StateHead,
  { resume, warn }: { resume: boolean; warn(message: string): void },
) {
  makeExploreFolder(folder)
  const path = join(folder, STATE_FILE)
  const before = resume ? resumedCases(path, about) : new Map<string, TriedCase>()
  if (!resume) writeOutputFile(path, lineOf({ version: STATE_VERSION, ...about }))
  let failed = false
  return {
    /** The results of an earlier exploration, by name of the case. */
    before,
    /** Appends a result, which replaces an earlier one of its case. */
    add(tried: TriedCase): void {
      if (failed) return
      try {
        appendFileSync(path, lineOf(tried))
      } catch (error) {
        // What follows an incomplete line could not be read.
        failed = true
        warn(`${path} cannot be written: ${(error as Error).message}; --resume will run later cases again`)
      }
    },
  }
}

const lineOf = (value: unknown): string => `${JSON.stringify(value)}\n`

/**
 * Creates the folder of an exploration, unless it exists.
 * @throws ConfigError if that fails
 */
export function makeExploreFolder(folder: string): void {
  try {
    makePrivateFolder(folder)
  } catch (error) {
    throw new ConfigError(`--out ${JSON.stringify(folder)} cannot be created: ${(error as Error).message}`)
  }
}

/** How to start again if a state cannot be used. */
const ANEW = 'omit --resume to explore everything again'

/** The results of a state. An incomplete last line, as after a crash, is removed: its case runs again. */
function resumedCases(path: string, { command, seed }: StateHead): ReadonlyMap<string, TriedCase> {
  if (!existsSync(path)) throw new ConfigError(`--resume requires ${path}, which does not exist`)
  const bytes = readFileSync(path)
  const end = bytes.lastIndexOf('\n') + 1
  const [head, ...results] = valuesIn(path, bytes.subarray(0, end).toString('utf8'))
  if (!isHead(head) || !results.every(isTried))
    throw new ConfigError(`--resume cannot continue: ${path} is not a state file of this version; ${ANEW}`)
  if (end < bytes.length) truncateSync(path, end)
  if (JSON.stringify(head.command) === JSON.stringify(command) && head.seed === seed)
    return new Map(results.map((tried) => [caseName(tried.result), tried]))
  throw new ConfigError(
    `--resume cannot continue: ${path} belongs to ${JSON.stringify(head.command.join(' '))} with seed ${head.seed}; explore that command, or omit --resume`,
  )
}

function valuesIn(path: string, text: string): unknown[] {
  try {
    return text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line)]))
  } catch (error) {
    throw new ConfigError(`--resume cannot read ${path}: ${(error as Error).message}; ${ANEW}`)
  }
}

const isHead = (value: unknown): value is StateHead =>
  isObject(value) && value.version === STATE_VERSION && Array.isArray(value.command) && typeof value.seed === 'number'

const isTried = (value: unknown): value is TriedCase =>
  isObject(value) &&
  isObject(value.result) &&
  ['point', 'class', 'verdict', 'why'].every(
    (key) => typeof (value.result as Record<string, unknown>)[key] === 'string',
  ) &&
  Array.isArray(value.following) &&
  Array.isArray(value.discovered)
