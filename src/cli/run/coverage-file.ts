// The file in which runs accumulate the coverage of recovery paths: --coverage of exec and explore.
import { existsSync, readFileSync } from 'node:fs'
import { mergeRecoveryPaths, type RecoveryPathCounts } from '../../exploration/recovery-paths.ts'
import { asObject, isObject, parsedJson } from '../../lib/values.ts'
import { FileError } from '../../schema/source.ts'
import { writeOutputFile } from '../print/output-file.ts'

const isCount = (value: unknown) => Number.isSafeInteger(value) && Number(value) >= 0
const isCounts = (value: unknown): value is RecoveryPathCounts => isObject(value) && Object.values(value).every(isCount)

/**
 * The counts of earlier runs in a file; empty if there is no file yet.
 * @throws FileError for an invalid file
 */
export function readCoverage(file: string): RecoveryPathCounts {
  if (!existsSync(file)) return {}
  const { recovery_paths: counts, ...others } = asObject(parsedJson(readFileSync(file, 'utf8'))) ?? {}
  if (isCounts(counts) && Object.keys(others).length === 0) return counts
  throw new FileError(`--coverage ${JSON.stringify(file)} is not a coverage file: choose another file, or delete it`)
}

/** Adds the counts of runs to the earlier ones, and returns all of them. */
export function addCoverage(
  file: string,
  before: RecoveryPathCounts,
  runs: readonly RecoveryPathCounts[],
): RecoveryPathCounts {
  const counts = mergeRecoveryPaths([before, ...runs])
  writeOutputFile(file, `${JSON.stringify({ recovery_paths: counts }, null, 2)}\n`)
  return counts
}

/** How many of the configured recovery paths were exercised, and which never were. */
export function recoveryPathLines(counts: RecoveryPathCounts): string[] {
  const all = Object.entries(counts)
  if (all.length === 0) return []
  const never = all.filter(([, taken]) => taken === 0).map(([path]) => path)
  return [
    `${all.length - never.length} of ${all.length} recovery paths exercised${never.length > 0 ? `; not exercised: ${never.join('; ')}` : ''}`,
  ]
}
