// Whether the body of a record is what its kind says: what another program or a broken disk has left there would be a bug later.
import type { z } from 'zod'
import type { Problem } from '../contract/core/problem.ts'
import type { Fields } from '../contract/workspace/record.ts'
import { formatPath, problemsOf, safeParse, valueAt } from '../schema/validation.ts'

/** What the bodies of a kind of records must be. */
export interface RecordShape {
  /** Of a body as it is stored: what none is without, whatever version has stored it. */
  stored?: z.ZodType | undefined
  /** Of what clients see of it, in which fields may be missing: earlier versions had fewer. */
  shown?: z.ZodType | undefined
  /** What clients see of it; all when left out. */
  show?(body: Fields): Fields
}
/** The shapes by kind; undefined where a body may be any object. */
export type RecordShapes = (kind: string) => RecordShape | undefined

/** What is wrong with a body; undefined when nothing is. */
export function bodyProblem({ stored, shown, show }: RecordShape, body: Fields): Problem | undefined {
  const [problem] = stored ? problemsWith(stored, body) : []
  if (problem || !shown) return problem
  try {
    const seen = show?.(body) ?? body
    return problemsWith(shown, seen).find(({ path }) => path.length === 0 || valueAt(seen, path) !== undefined)
  } catch {
    return { path: [], message: 'cannot be read' }
  }
}

function problemsWith(schema: z.ZodType, value: unknown): Problem[] {
  const result = safeParse(schema, value)
  return result.success ? [] : problemsOf(result.error, value)
}

/** Throws when a body is not what its kind says, or is not that of the record with this `id`. */
export function checkBody(shape: RecordShape | undefined, id: unknown, body: Fields): void {
  if (body._id !== undefined && body._id !== id) throw new Error('its id is not that of its body')
  const problem = shape && bodyProblem(shape, body)
  if (!problem) return
  const place = problem.path.length === 0 ? 'its body' : `'${formatPath(problem.path)}' of its body`
  throw new Error(`${place} ${problem.message}`)
}
