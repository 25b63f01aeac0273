// The points of a program: what its runs without faults show, and which of them are worth a break.
import type { Point } from '../contract/exploration.ts'
import type { TraceRecord } from '../contract/trace.ts'
import { requestFacts } from './requests.ts'
import type { Cell, ObservedCall, ObservedRun } from './types.ts'

/** What the id of a point says. */
export function pointParts(id: string): { kind: string; nth: number; session: string | null } {
  const [, kind = id, nth = '1', session = null] = /^(.*)\.(\d+)(?:@(.*))?$/.exec(id) ?? []
  return { kind: session === null ? kind : `${kind}@${session}`, nth: Number(nth), session }
}

/** A call as its trace tells it. One that was refused before anybody could tell its kind has a kind of its own, and is no point. */
export function observedCall(trace: TraceRecord, shape: CallShape, request: unknown): ObservedCall {
  const { point: id = `${trace.operation}-refused.1`, operation, stream, model, session } = trace
  const { kind, nth } = pointParts(id)
  const { turn, offersTools, demandsJson, agent } = shape
  const point = { id, kind, session, operation, stream, model, turn, nth, offersTools, demandsJson, agent }
  return { point, trace, request: requestFacts(request) }
}

const hasPoint = ({ trace }: ObservedCall): boolean => trace.point !== undefined

/** What only the request of a call says. */
export type CallShape = Pick<Point, 'turn' | 'offersTools' | 'demandsJson' | 'agent'>

/** The points of two quiet runs, in the order in which they came; those of one run alone are unstable. */
export function quietPoints(one: ObservedRun, other: ObservedRun): Point[] {
  const first = new Map(one.calls.filter(hasPoint).map(({ point }) => [point.id, point]))
  const second = new Map(other.calls.filter(hasPoint).map(({ point }) => [point.id, point]))
  const all = new Map([...first, ...second])
  return [...all.values()].map((point) => ({
    ...point,
    unstable: !(first.has(point.id) && second.has(point.id)),
    discovered: false,
  }))
}

/** Points of a run that are not known yet. */
export const newPoints = (run: ObservedRun, known: ReadonlySet<string>): Point[] =>
  run.calls
    .filter((call) => hasPoint(call) && !known.has(call.point.id))
    .map(({ point }) => ({ ...point, unstable: false, discovered: true }))

/** The ends of each loop, by the ids of the points between them: what both ends come to, those come to as well. */
export function loopEnds(points: readonly Point[]): Map<string, readonly [first: Point, last: Point]> {
  const ends = new Map<string, readonly [Point, Point]>()
  for (const kin of Map.groupBy(points, ({ kind }) => kind).values()) {
    const [first, last] = [kin[0], kin.at(-1)]
    if (first && last) for (const { id } of kin.slice(1, -1)) ends.set(id, [first, last])
  }
  return ends
}

/** The pattern of a scenario's rule that means all calls of a point's kind. */
export function kindPattern({ id }: Pick<Point, 'id'>): string {
  const [, kind = id, , session] = /^(.*)\.(\d+)(?:@(.*))?$/.exec(id) ?? []
  return session === undefined ? `${kind}.*` : `${kind}.*@${session}`
}

/** The points that a cell breaks, the earlier first. */
export const pointsOfCell = ({ point, after }: Cell): Point[] => (after ? [after.point, point] : [point])
