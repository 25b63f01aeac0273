// understudy check --fix: rewrites former names of keys and values in the files of users.
import { chmodSync, readFileSync, statSync } from 'node:fs'
import { basename } from 'node:path'
import { type FixtureFile, fixtureProblems } from '../../backends/fixture/load.ts'
import { settingProblems } from '../../config.ts'
import type { Problem } from '../../contract/core/problem.ts'
import { fixtureSubjects } from '../../endpoints/index.ts'
import { KNOWN_FILE, knownProblems } from '../../exploration/known-failures.ts'
import { isScenario, scenarioProblems } from '../../scenarios/load.ts'
import type { SourceFile } from '../../schema/source.ts'
import { writeOutputFile } from '../print/output-file.ts'
import { sourceOf } from './check-names.ts'

type FindProblems = (source: SourceFile) => readonly Problem[]

/** Maximum passes over a file: what is inside a renamed key is only checked in the next one. */
const MAX_ROUNDS = 20

/**
 * Rewrites the former names in files, and leaves everything else in them byte for byte. Files that are not YAML or JSON
 * are unchanged: the check reports them.
 * @param files fixtures and scenarios
 * @param others paths of files of known failures and of settings
 * @returns the number of replaced names by path, for changed files only
 * @throws ServerError for a file that cannot be written
 */
export function fixFiles(files: readonly FixtureFile[], others: readonly string[]): Map<string, number> {
  const found = new Map<string, number>()
  const fix = (path: string, text: string, problemsOf: FindProblems) => {
    const { count, fixed } = renamedText(path, text, problemsOf)
    if (count === 0) return
    // It is a file of the project, which others must still be able to read.
    const { mode } = statSync(path)
    writeOutputFile(path, fixed)
    chmodSync(path, mode)
    found.set(path, count)
  }
  for (const file of files)
    fix(file.path, file.text, ({ value, path }) =>
      isScenario(path, file.text) ? scenarioProblems(value) : fixtureProblems({ ...file, value }, fixtureSubjects),
    )
  for (const path of others)
    fix(path, readFileSync(path, 'utf8'), ({ value }) =>
      isKnownFile(path) ? knownProblems(value) : settingProblems(value),
    )
  return found
}

function renamedText(path: string, text: string, problemsOf: FindProblems): { count: number; fixed: string } {
  let fixed = text
  let count = 0
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const source = sourceOf(path, fixed)
    if (!source) break
    const renames = problemsOf(source).filter(({ rename }) => rename !== undefined)
    const next = source.renamed(renames)
    if (next === fixed) break
    fixed = next
    count += renames.length
  }
  return { count, fixed }
}

/** Whether a path is a file of known failures. */
export const isKnownFile = (path: string): boolean => basename(path) === KNOWN_FILE
