// The file of known cells: what is broken, known and accepted, with a word why; new breakage alone is news.

import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { type CellResult, CLASS_NAMES, VERDICTS } from '../contract/core/exploration.ts'
import type { Problem } from '../contract/core/problem.ts'
import { suggestion } from '../lib/likely-name.ts'
import { globRegex } from '../lib/match.ts'
import { FileError, parseSource } from '../schema/source.ts'
import { problemsOf, safeParse } from '../schema/validation.ts'

/** Name of the file that is read when no other is given. */
export const KNOWN_FILE = 'explore.yaml'

const KnownCell = z.strictObject({
  injection_point: z.string().min(1).describe('Id of the injection point; `*` matches any characters.'),
  failure_mode: z
    .string()
    .min(1)
    .superRefine((text, context) => {
      const unknown = text.split('+').find((name) => !CLASS_NAMES.some((one) => globRegex(name).test(one)))
      if (unknown === undefined) return
      const message = `must be a failure mode${suggestion(unknown, CLASS_NAMES)}; valid: ${CLASS_NAMES.join(', ')}`
      context.addIssue({ code: 'custom', message, params: { choices: CLASS_NAMES } })
    })
    .describe('Name of the failure mode; for a pair, both names joined with +; `*` matches any characters.'),
  result: z.enum(VERDICTS).optional().describe('The accepted result; any result by default.'),
  reason: z.string().min(1).describe('Why it is accepted.'),
})
const KnownCells = z.strictObject({ accepted: z.array(KnownCell) })

/** A cell that is known, and why it may stay as it is. */
export type KnownCell = z.infer<typeof KnownCell>

/**
 * The known cells of a file.
 * @throws FileError with all problems.
 */
export function readKnown(path: string): KnownCell[] {
  const source = parseSource(path, readText(path))
  const result = safeParse(KnownCells, source.value)
  if (result.success) return result.data.accepted
  const problems = problemsOf(result.error, source.value)
  throw new FileError(problems.map((problem) => source.line(problem, 'the known cases')))
}

/** What is wrong with the value of a file of known cells. */
export function knownProblems(value: unknown): Problem[] {
  const result = safeParse(KnownCells, value)
  return result.success ? [] : problemsOf(result.error, value)
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw new FileError(`cannot read the known cases: ${(error as Error).message}`)
  }
}

/** Verdicts that are nobody's fault. */
export const isGood = ({ verdict }: Pick<CellResult, 'verdict'>): boolean =>
  verdict === 'tolerated' || verdict === 'not-applied' || verdict === 'accepted'

const isAbout = (known: KnownCell, cell: CellResult): boolean =>
  globRegex(known.injection_point).test(cell.point) && globRegex(known.failure_mode).test(cell.class)
const means = (known: KnownCell, cell: CellResult): boolean =>
  isAbout(known, cell) && (known.result === undefined || known.result === cell.verdict)

/**
 * The cells with those accepted that are known, and the known ones that meet no bad cell any more.
 * @param all whether every cell was tried: only then is what meets no cell at all gone
 */
export function acceptKnown(
  cells: readonly CellResult[],
  known: readonly KnownCell[],
  all: boolean,
): { cells: CellResult[]; mended: KnownCell[] } {
  const used = new Set<KnownCell>()
  const judged = cells.map((cell): CellResult => {
    const found = isGood(cell) ? undefined : known.find((one) => means(one, cell))
    if (!found) return cell
    used.add(found)
    return { ...cell, verdict: 'accepted', why: `${found.reason} (${cell.verdict}: ${cell.why})` }
  })
  const isMended = (one: KnownCell) => {
    const own = cells.filter((cell) => isAbout(one, cell))
    return own.length > 0 ? own.every(isGood) : all
  }
  return { cells: judged, mended: known.filter((one) => !used.has(one) && isMended(one)) }
}
