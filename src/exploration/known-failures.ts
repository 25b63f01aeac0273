// The file of known failures: accepted ones, each with a reason. Only new failures are reported.
import { readFileSync } from 'node:fs'
import type { z } from 'zod'
import type { CaseResult } from '../contract/core/exploration.ts'
import type { Problem } from '../contract/core/problem.ts'
import { lazy } from '../lib/lazy.ts'
import { globRegex } from '../lib/match.ts'
import { FileError, parseSource } from '../schema/source.ts'
import { problemsOf, safeParse } from '../schema/validation.ts'
import type { KnownFailureSchema } from './known-failures-schema.ts'
import { problemKindOf } from './problems.ts'

const format = lazy<typeof import('./known-failures-schema.ts')>(() => require('./known-failures-schema.ts'))

/** Default name of the file. */
export const KNOWN_FILE = 'explore.yaml'

/** A known failure, and why it is accepted. */
export type KnownFailure = z.infer<typeof KnownFailureSchema>

/**
 * The known failures in a file.
 * @throws FileError with all problems
 */
export function readKnownFailures(path: string): KnownFailure[] {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    throw new FileError(`cannot read the known cases: ${(error as Error).message}`)
  }
  const source = parseSource(path, text)
  const result = safeParse(format().KnownFailures, source.value)
  if (result.success) return result.data.accepted
  const problems = problemsOf(result.error, source.value)
  throw new FileError(problems.map((problem) => source.line(problem, 'the known cases')))
}

/** The problems of a known-failures file's value. */
export function knownProblems(value: unknown): Problem[] {
  const result = safeParse(format().KnownFailures, value)
  return result.success ? [] : problemsOf(result.error, value)
}

const isAbout = (known: KnownFailure, cell: CaseResult): boolean =>
  globRegex(known.injection_point).test(cell.point) && globRegex(known.failure_mode).test(cell.class)
const means = (known: KnownFailure, cell: CaseResult): boolean =>
  isAbout(known, cell) && (known.result === undefined || known.result === cell.verdict)

/** Whether a result is a known failure. */
export const isKnownFailure = (known: readonly KnownFailure[], result: CaseResult): boolean =>
  known.some((one) => means(one, result))

/**
 * The cases with the known ones accepted, and the known failures that no longer occur.
 * @param all whether every case was run: only then is an entry without a case obsolete
 */
export function acceptKnownFailures(
  cells: readonly CaseResult[],
  known: readonly KnownFailure[],
  all: boolean,
): { cases: CaseResult[]; fixed: KnownFailure[] } {
  const used = new Set<KnownFailure>()
  const judged = cells.map((result): CaseResult => {
    const found = problemKindOf(result) === undefined ? undefined : known.find((one) => means(one, result))
    if (!found) return result
    used.add(found)
    return { ...result, verdict: 'accepted', why: `${found.reason} (${result.verdict}: ${result.why})` }
  })
  const isFixed = (one: KnownFailure) => {
    const own = cells.filter((cell) => isAbout(one, cell))
    return own.length > 0 ? own.every((cell) => problemKindOf(cell) === undefined) : all
  }
  return { cases: judged, fixed: known.filter((one) => !used.has(one) && isFixed(one)) }
}
