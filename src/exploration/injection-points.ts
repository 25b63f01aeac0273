// The injection points of a program, from its baseline runs, and which of them are tested.
import type { InjectionPoint } from '../contract/core/exploration.ts'
import { requestFacts } from './requests.ts'
import type { ObservedCall, ObservedRun } from './types.ts'

/** The parts of an injection point's id; `name` is that of the operation in its API. */
export function pointParts(id: string): { name: string; kind: string; nth: number; session: string | null } {
  const [, kind = id, name = id, nth = '1', session = null] = /^(([^@]*)-[^@]*)\.(\d+)(?:@(.*))?$/.exec(id) ?? []
  return { name, kind: session === null ? kind : `${kind}@${session}`, nth: Number(nth), session }
}

/**
 * A call from its trace. One that was rejected before its kind was known has a kind of its own, and is no injection
 * point.
 */
export function observedCall({ trace, shape, request, client }: CallParts): ObservedCall {
  const { call_site: id = `${trace.operation}-refused.1`, operation, stream, model, session } = trace
  const { name, kind, nth } = pointParts(id)
  const point = { id, kind, name, session, operation, stream, model, nth, ...shape }
  return { point, trace, request: requestFacts(request), client }
}

/** The inputs of an observed call. */
interface CallParts extends Pick<ObservedCall, 'trace' | 'client'> {
  shape: CallShape
  request: unknown
}

/** Whether a call is an injection point: one that was rejected before its kind was known is not. */
export const hasPoint = ({ trace }: ObservedCall): boolean => trace.call_site !== undefined

/** Facts that only the request of a call contains. */
export type CallShape = Pick<InjectionPoint, 'turn' | 'offersTools' | 'demandsJson' | 'agent' | 'prompt'>

const pointsOf = ({ calls }: ObservedRun) =>
  new Map(calls.filter(hasPoint).map(({ point }) => [point.id, point] as const))

/**
 * The injection points of the first two baseline runs, in order; those of only one run are unstable. Their prompts are
 * what all runs have in common: if a suite runs in random order, another prompt comes to a point in each run.
 */
export function baselinePoints(one: ObservedRun, others: readonly ObservedRun[]): InjectionPoint[] {
  const first = pointsOf(one)
  const second = pointsOf(others[0] ?? one)
  const runs = [first, ...others.map(pointsOf)]
  const all = new Map([...first, ...second])
  return [...all.values()].map((found, index) => {
    const point = { ...found, prompt: sharedWords(runs.flatMap((run) => run.get(found.id)?.prompt ?? [])) }
    return {
      ...point,
      label: labelOf(point, index + 1),
      unstable: !(first.has(point.id) && second.has(point.id)),
      discovered: false,
    }
  })
}

/** The first words that all prompts have in common. */
function sharedWords([first = '', ...others]: readonly string[]): string {
  const words = first.split(' ')
  const rest = others.map((other) => other.split(' '))
  const differs = words.findIndex((word, at) => rest.some((other) => other[at] !== word))
  if (differs < 0) return first
  return differs === 0 ? '' : `${words.slice(0, differs).join(' ')}…`
}

/**
 * Names a point for people; `number` is its place among the calls of the baseline run. A point that only faults cause has
 * no prompt of its own: it depends on the fault which one comes there.
 */
function labelOf({ id, name, stream, session, prompt }: ObservedCall['point'], number?: number): string {
  const about = [
    `${name}${stream ? ' stream' : ''}`,
    ...(number === undefined ? [] : [`call ${number}`]),
    ...(id.endsWith(`@${session}`) ? [`session ${session}`] : []),
  ]
  return `${about.join(', ')}${prompt === '' ? '' : `: "${prompt}"`}`
}

/** Whether two runs made the same calls in the same order: only then can a run prove the result of another one. */
export function madeSameCalls(one: ObservedRun, other: ObservedRun): boolean {
  if (one.calls.length !== other.calls.length) return false
  const requests = new Map(other.calls.map(({ point, client }) => [point.id, client.request]))
  return one.calls.every(({ point, client }) => requests.get(point.id) === client.request)
}

/** Injection points of a run that are not known yet. */
export const newInjectionPoints = (run: ObservedRun, known: ReadonlySet<string>): InjectionPoint[] =>
  run.calls
    .filter((call) => hasPoint(call) && !known.has(call.point.id))
    .map(({ point }) => ({ ...point, label: labelOf({ ...point, prompt: '' }), unstable: false, discovered: true }))

/** If a kind has more calls than this, only some are tested, in proportion: each run makes all calls of the program. */
const MAX_KIND = { points: 100, calls: 10_000, least: 3 }

/** The points that are tested: all, but for kinds with very many calls the first, the last, and some between them. */
export function failingPoints<Found extends Pick<InjectionPoint, 'kind'>>(points: readonly Found[]): Found[] {
  const { points: most, calls, least } = MAX_KIND
  const chosen = new Set<Found>()
  for (const kin of Map.groupBy(points, ({ kind }) => kind).values()) {
    const tries = Math.max(least, Math.min(most, Math.floor(calls / points.length)))
    const step = kin.length <= most ? 1 : (kin.length - 1) / (tries - 1)
    for (let at = 0; Math.round(at) < kin.length; at += step) {
      const point = kin[Math.round(at)]
      if (point) chosen.add(point)
    }
  }
  return points.filter((point) => chosen.has(point))
}

/** Points in the order in which they are tested: the first and the last of each kind are the most informative. */
export function endsFirst(points: readonly InjectionPoint[]): InjectionPoint[] {
  const ends = new Set([...Map.groupBy(points, ({ kind }) => kind).values()].flatMap((kin) => [kin[0], kin.at(-1)]))
  const isEnd = (point: InjectionPoint) => (ends.has(point) ? 0 : 1)
  return points.toSorted((one, other) => isEnd(one) - isEnd(other))
}

/** The match of a scenario's rule for all calls of a point's kind, only in its session. */
export function kindMatch({ id }: Pick<InjectionPoint, 'id'>): string | { regex: string } {
  const { kind, session } = pointParts(id)
  // After `@` are the names of other sessions, whose calls of the same kind are not meant.
  if (session === null) return { regex: `^${kind.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}\\.\\d+$` }
  return `${kind.slice(0, -session.length - 1)}.*@${session}`
}
