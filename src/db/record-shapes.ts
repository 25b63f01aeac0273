// Validates stored record bodies: invalid data of another program or a broken disk would be a bug later.
import type { z } from 'zod'
import type { Problem } from '../contract/core/problem.ts'
import type { Fields } from '../contract/workspace/record.ts'
import { formatPath, problemsWith, valueAt } from '../schema/validation.ts'

/** The schemas of a kind's bodies. */
export interface RecordShape {
  /** Of a body as it is stored: what none is without, whatever version has stored it. */
  stored?: z.ZodType | undefined
  /** Schema of the stored body: fields that every version has written. */
  shown?: z.ZodType | undefined
  /** Schema of what clients see, in which fields may be missing: earlier versions had fewer. */
  show?(body: Fields): Fields
}
/** The part that clients see; default: all of it. */
export type RecordShapes = (kind: string) => RecordShape | undefined

/** The schemas by kind; undefined if a body may be any object. */
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

/**
 * Validates the body of the record with this `id`.
 * @throws Error if it is invalid or of another record
 */
export function checkBody(shape: RecordShape | undefined, id: unknown, body: Fields): void {
  if (body._id !== undefined && body._id !== id) throw new Error('its id is not that of its body')
  const problem = shape && bodyProblem(shape, body)
  if (!problem) return
  const place = problem.path.length === 0 ? 'its body' : `'${formatPath(problem.path)}' of its body`
  throw new Error(`${place} ${problem.message}`)
}
