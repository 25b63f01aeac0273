// Calls under way, and where they stand among spans.
import type { AttemptEnded, CallBegun, CallMaterial, TaskChanged, TraceSaved } from '../../contract/observation.ts'
import { Allowance } from '../../lib/allowance.ts'
import { iterationSpanId } from './agent-spans.ts'
import { type AgentTimes, type AttemptEnd, type CalledAddress, stepKey } from './ended-call.ts'
import { callerPosition, callSpanId, otelTraceId, type TraceContext, type TracePosition } from './trace-context.ts'

/** Of the traces that are none of a caller's, or of all, the part that is exported, from 0 to 1. */
export interface Sampling {
  ratio: number
  ofAll: boolean
}

/** A call under way; times are those of observations. */
export interface OpenCall {
  position: TracePosition
  at: number
  attemptEnds: AttemptEnd[]
  address: CalledAddress | undefined
  agent: AgentTimes | undefined
}

/**
 * To write and send the spans of a call takes about as long as half a call. So many at once are exported, and so many a second
 * for as long as they come; of what comes faster nothing is made, so that the calls keep the time.
 */
export const EXPORTED_CALLS = { perSecond: 250, most: 1_000 }
/** Calls under way that are known, and calls that were part of a caller's trace: of twice as many the oldest are forgotten. */
const MOST_KNOWN = 10_000

/** What is known of calls: of those under way, of those whose spans are not written, and whose trace others were joined to. */
export function observedCalls(sampling: Sampling, lose: (observation: TraceSaved) => void) {
  const allowance = new Allowance(EXPORTED_CALLS)
  const known = new Map<string, OpenCall>()
  const joined = new Map<string, TraceContext>()
  return {
    begin(observation: CallBegun, call: CallMaterial): void {
      const { trace, parent, at } = observation
      const outer = parent === null ? undefined : known.get(parent)
      const iteration = call.inner?.agent?.iteration
      if (outer && iteration !== undefined) agentOf(outer).asked.set(iteration, at)
      // What came too fast is not known from here on.
      if (!outer && isWanted(observation, call, sampling) && !allowance.take(at)) return
      const position = positionOf(observation, { call, outer: outer?.position, sampling })
      remember(known, trace, { position, at, attemptEnds: [], address: addressOf(call), agent: undefined })
    },
    attemptEnded: ({ trace, at }: AttemptEnded, { httpStatus = null }: CallMaterial) =>
      void known.get(trace)?.attemptEnds.push({ at, httpStatus }),
    changed({ trace, task, at }: TaskChanged): void {
      const open = known.get(trace)
      if (open) for (const step of task.steps) agentOf(open).ended.set(stepKey(step), at)
    },
    /** A call that has ended; undefined when it is not exported. It is known until it is forgotten, for whoever writes of it too. */
    saved(observation: TraceSaved): OpenCall | undefined {
      const { id } = observation.trace
      const open = known.get(id) ?? unseen(observation)
      if (!open) {
        lose(observation)
        return undefined
      }
      const { remote, sampled, traceId, state } = open.position
      if (!sampled) known.delete(id)
      else if (remote) remember(joined, id, { traceId, state })
      return sampled ? open : undefined
    },
    forget: (trace: string) => void known.delete(trace),
    positionOf: (trace: string): TracePosition | undefined => known.get(trace)?.position,
    contextOf: (trace: string): TraceContext => joined.get(trace) ?? { traceId: otelTraceId(trace) },
  }
}

const addressOf = ({ url, received, route }: CallMaterial): CalledAddress | undefined =>
  url === undefined ? undefined : { received: received?.url ?? url, url, route }

function agentOf(open: OpenCall): NonNullable<OpenCall['agent']> {
  open.agent ??= { asked: new Map(), ended: new Map() }
  return open.agent
}

/** Where a call stands: in the trace of its caller, in that of the call that made it, or in one of its own. */
function positionOf(
  { trace, parent }: CallBegun,
  { call, outer, sampling }: { call: CallMaterial; outer: TracePosition | undefined; sampling: Sampling },
): TracePosition {
  if (parent !== null) return innerPosition(parent, outer, call)
  const caller = call.headers && callerPosition(call.headers)
  if (caller && !sampling.ofAll) return caller
  const traceId = caller?.traceId ?? otelTraceId(trace)
  return { ...caller, traceId, sampled: isSampled(traceId, sampling.ratio) }
}

/** Whether a call is to be exported that is no part of one that is known. */
const isWanted = (observation: CallBegun, call: CallMaterial, sampling: Sampling): boolean =>
  (sampling.ratio >= 1 && (call.headers?.get('traceparent') ?? null) === null) ||
  positionOf(observation, { call, outer: undefined, sampling }).sampled

function remember<Value>(map: Map<string, Value>, key: string, value: Value): void {
  map.set(key, value)
  if (map.size <= 2 * MOST_KNOWN) return
  // Many at once: to find the oldest one, a map goes over the places of all that went before it.
  let left = MOST_KNOWN
  for (const oldest of map.keys()) {
    if (left-- === 0) break
    map.delete(oldest)
  }
}

/** Of the same trace everybody makes the same of it: by its last 56 bits, which are as good as drawn. */
const isSampled = (traceId: string, ratio: number): boolean =>
  ratio >= 1 || Number.parseInt(traceId.slice(-14), 16) < ratio * 2 ** 56

/** Where a call from inside stands: under the call that made it, or under the iteration of the agent that did. */
function innerPosition(parent: string, outer: TracePosition | undefined, call: CallMaterial): TracePosition {
  const iteration = call.inner?.agent?.iteration
  return {
    traceId: outer?.traceId ?? otelTraceId(parent),
    state: outer?.state,
    parentId: iteration === undefined ? callSpanId(parent) : iterationSpanId(parent, iteration),
    sampled: outer?.sampled ?? true,
  }
}

/** A turn of a task that an earlier process has begun; of any other call the beginning was seen. */
function unseen({ trace: { id, parent, duration_ms, task }, at }: TraceSaved): OpenCall | undefined {
  if (task === undefined) return undefined
  const position = parent === null ? { traceId: otelTraceId(id), sampled: true } : innerPosition(parent, undefined, {})
  return { position, at: at - duration_ms, attemptEnds: [], address: undefined, agent: undefined }
}
