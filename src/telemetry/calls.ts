// Calls in flight, and the position of each in an OpenTelemetry trace. Ids of traces and spans are functions of our trace
// ids, and so of the seed if the clock is virtual. A caller's trace is joined (W3C trace context).
import type { AttemptEnded, CallBegun, CallMaterial, TaskChanged, TraceSaved } from '../contract/core/observation.ts'
import type { TaskStep } from '../contract/core/trace.ts'
import { parseTraceparent, parseTracestate } from '../lib/trace-context.ts'
import { callContent, finishReasons, readResponseId, requestParameters } from './content.ts'

/** The trace that a span is part of. */
export interface TraceContext {
  traceId: string
  /** The caller's `tracestate`, which every span of the trace has. */
  state?: string | undefined
}

/** The position of a call in its trace. */
interface TracePosition extends TraceContext {
  parentId?: string | undefined
  /** Whether the parent is a span of the caller. */
  remote?: boolean
  sampled: boolean
}

/** Crockford's base 32, the encoding of ULIDs. */
const DIGITS = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
const ULID = /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/

const hash = (text: string): string => Bun.hash(text).toString(16).padStart(16, '0')

/** The OpenTelemetry id of a trace: the 128 bits of its ULID as 32 hexadecimal digits. */
function otelTraceId(trace: string): string {
  if (!ULID.test(trace)) return hash(trace) + hash(`${trace}:more`)
  let bits = 0n
  for (const digit of trace) bits = (bits << 5n) | BigInt(DIGITS.indexOf(digit))
  return bits.toString(16).padStart(32, '0')
}

/** The id of a call's span: the last 64 bits of its trace id, which are random. */
export const callSpanId = (trace: string): string => otelTraceId(trace).slice(16)

/** The id of the span of a part of a call. */
export const partSpanId = (trace: string, part: string): string => hash(`${trace}:${part}`)

/** The part of a call for an iteration of an agent: its model calls are children of it. */
export const iterationPart = (iteration: number): string => `iteration:${iteration}`

/** The position that a caller's headers give its call; undefined if they are missing or invalid. */
function callerPosition(headers: Pick<Headers, 'get'>): TracePosition | undefined {
  const parent = parseTraceparent(headers.get('traceparent'))
  if (!parent) return undefined
  const { traceId, spanId: parentId, sampled } = parent
  return { traceId, parentId, remote: true, state: parseTracestate(headers.get('tracestate')), sampled }
}

/** The share of exported traces, from 0 to 1: of those without a caller's decision, or of all. */
export interface Sampling {
  ratio: number
  ofAll: boolean
}

/** A call in flight; times are those of observations, in milliseconds. */
interface OpenCall {
  position: TracePosition
  begun: number
  /** When its attempts ended, and the HTTP status that the target sent; null if it sent none. */
  attemptEnds: { at: number; httpStatus: number | null }[]
  /** The called URL: as received, as parsed, and its route; undefined for an internal call. */
  address: { received: string; url: string; route: string | undefined } | undefined
  /** When the steps of an agent's turn happened, if they were observed. */
  agent: AgentTimes | undefined
}

/** When an agent's turn called its model, by iteration, and when its steps were committed, by `stepKey`. */
interface AgentTimes {
  requestedAt: Map<number, number>
  ended: Map<string, number>
}

/** Identifies a step within its turn. */
export const stepKey = ({ iteration, kind, name, tool_call_id: call }: TaskStep): string =>
  `${iteration}:${kind}:${call ?? name}`

/** A call that has ended, with all data of its spans, but without its request and response. */
export type EndedCall = ReturnType<typeof endedCall>

/** Reduces a call that has ended to the data of its spans, so that its request and response can be freed. */
export function endedCall(
  open: OpenCall,
  { trace, seq, at }: TraceSaved,
  { call, offset, content }: { call: CallMaterial; offset: number; content: boolean },
) {
  const { request, answer, steps = [], retained = false, httpStatus = trace.status } = call
  return {
    ...open,
    trace,
    /** Its number in its session. */
    seq,
    ended: at,
    /** What must be added to its times to get milliseconds since the epoch. */
    offset,
    /** When its steps other than attempts ended; empty if they were not observed. */
    steps,
    /** The HTTP status that the client received; null if it received none. */
    httpStatus,
    parameters: requestParameters(request),
    responseId: readResponseId(answer),
    finishReasons: finishReasons(answer),
    /** The messages, if content is exported. */
    content: content && retained ? callContent(request, answer) : undefined,
  }
}

/**
 * Maximum number of remembered calls, in flight or part of a caller's trace. The oldest are forgotten when there are
 * twice as many.
 */
const MAX_CALLS = 10_000

/** Follows calls from their start until their spans are built. */
export function trackCalls(sampling: Sampling) {
  const calls = new Map<string, OpenCall>()
  const joined = new Map<string, TraceContext>()
  return {
    begin({ trace, parent, at }: CallBegun, call: CallMaterial): void {
      const outer = parent === null ? undefined : calls.get(parent)
      const iteration = call.inner?.agent?.iteration
      if (outer && iteration !== undefined) agentTimes(outer).requestedAt.set(iteration, at)
      const position =
        parent === null ? rootPosition(trace, call, sampling) : innerPosition(parent, outer?.position, iteration)
      const { url, received, route } = call
      const address = url === undefined ? undefined : { received: received?.url ?? url, url, route }
      remember(calls, trace, { position, begun: at, attemptEnds: [], address, agent: undefined })
    },
    attemptEnded({ trace, at }: AttemptEnded, { httpStatus = null }: CallMaterial): void {
      calls.get(trace)?.attemptEnds.push({ at, httpStatus })
    },
    taskChanged({ trace, task, at }: TaskChanged): void {
      const open = calls.get(trace)
      if (open) for (const step of task.steps) agentTimes(open).ended.set(stepKey(step), at)
    },
    /** The call whose trace was saved, which is known until `forget`; undefined if its start is unknown. */
    saved(observation: TraceSaved): OpenCall | undefined {
      const { id } = observation.trace
      const open = calls.get(id) ?? earlierTurn(observation)
      if (!open) return undefined
      const { remote, sampled, traceId, state } = open.position
      if (!sampled) calls.delete(id)
      else if (remote) remember(joined, id, { traceId, state })
      return open
    },
    forget: (trace: string): void => void calls.delete(trace),
    findPosition: (trace: string): TracePosition | undefined => calls.get(trace)?.position,
    /** The trace of a call, also long after its end. */
    findContext: (trace: string): TraceContext => joined.get(trace) ?? { traceId: otelTraceId(trace) },
  }
}

const agentTimes = (open: OpenCall): AgentTimes => (open.agent ??= { requestedAt: new Map(), ended: new Map() })

/** The position of a client's call: in the trace of the client, or in a trace of its own. */
function rootPosition(trace: string, { headers }: CallMaterial, { ratio, ofAll }: Sampling): TracePosition {
  const caller = headers && callerPosition(headers)
  if (caller && !ofAll) return caller
  const traceId = caller?.traceId ?? otelTraceId(trace)
  // The same trace is sampled everywhere or nowhere: its last 56 bits are random (W3C Trace Context, level 2).
  const sampled = ratio >= 1 || Number.parseInt(traceId.slice(-14), 16) < ratio * 2 ** 56
  return { ...caller, traceId, sampled }
}

/** The position of an internal call: under its outer call, or under the agent's iteration. */
function innerPosition(parent: string, outer: TracePosition | undefined, iteration?: number): TracePosition {
  return {
    traceId: outer?.traceId ?? otelTraceId(parent),
    state: outer?.state,
    parentId: iteration === undefined ? callSpanId(parent) : partSpanId(parent, iterationPart(iteration)),
    sampled: outer?.sampled ?? true,
  }
}

/** A turn of a task that an earlier process started. The start of any other call was observed. */
function earlierTurn({ trace: { id, parent, duration_ms, task }, at }: TraceSaved): OpenCall | undefined {
  if (task === undefined) return undefined
  const position = parent === null ? { traceId: otelTraceId(id), sampled: true } : innerPosition(parent, undefined)
  return { position, begun: at - duration_ms, attemptEnds: [], address: undefined, agent: undefined }
}

function remember<Value>(map: Map<string, Value>, key: string, value: Value): void {
  map.set(key, value)
  if (map.size <= 2 * MAX_CALLS) return
  // Many at once: to find its first key, a map walks over all deleted ones before it.
  for (const oldest of map.keys()) {
    if (map.size <= MAX_CALLS) break
    map.delete(oldest)
  }
}
