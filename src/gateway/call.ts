// A request to an operation, from a client or from the program itself.
import type { z } from 'zod'
import type { ConnectionFinder } from '../contract/core/connection.ts'
import type { ApiError } from '../contract/core/error.ts'
import type { AgentFacts } from '../contract/core/fault.ts'
import type { Operation } from '../contract/core/operation.ts'
import type { Reply } from '../contract/core/reply.ts'
import type { TraceRecord } from '../contract/core/trace.ts'
import type { Wire } from '../contract/core/wire.ts'
import type { Retry, Timeout } from '../contract/router/shared.ts'
import type { Caller } from '../contract/workspace/record.ts'
import { parseCall } from '../schema/parse.ts'
import type { Session } from '../sessions/sessions.ts'

/** The body of a compatible API as its client sent it. */
export interface RawFields {
  fields: Readonly<Record<string, unknown>>
  /** The model as the client named it. */
  model: string
  /** The model with its provider. */
  fullModel: string
}

/** One request to an operation. */
export interface Call {
  operation: Operation
  session: Session
  /** The caller, determined at first use. */
  caller(): Caller
  /** The received body; of a form, its fields as JSON. */
  text: string
  /** The received body before it was parsed; absent for an internal call. */
  body?: Uint8Array | undefined
  /** The received body where `text` differs from it: for a form, or for a body that is not JSON. */
  readonly unread?: Uint8Array | undefined
  /** Address and headers as received, before the session was removed from the path; absent for an internal call. */
  readonly received?: Pick<Request, 'url' | 'headers'> | undefined
  /** Whether the trace may keep the body and the response. */
  retained: boolean
  /** The address of the call. */
  url: string
  headers: Headers
  /** Aborted when the client is gone. Created at first use, which most calls never reach. */
  readonly signal: AbortSignal
  /** Whether `signal` is aborted; reading this does not create the signal. */
  readonly aborted: boolean
  /** Finds the client's connection, for effects that HTTP cannot express. */
  hold?: ConnectionFinder | undefined
  /** Of an internal call: the trace of the call that made it, if any, and its key. */
  inner?: Pick<InnerCall, 'key' | 'agent' | 'fallbacks'> & { parent: string | null }
  /** Models that `parse` completed with the default provider: full ids by field, for the trace. */
  readonly assumed?: Readonly<Record<string, string>> | undefined
  /** Converts responses for the clients of a compatible API; absent for the router's own API. */
  wire?: Wire | undefined
  /** The body of a compatible API before conversion; undefined when it names no model or is invalid. */
  readonly raw?: RawFields | undefined
  /** Parses and validates the body; throws `ApiError`. */
  parse(): unknown
  /** `parse` for a large body, in slices. */
  parseInSlices(): Promise<unknown>
  /** An error found after parsing, with the field names of this deployment. */
  inDeploymentTerms?(error: ApiError): ApiError
  /** Called when the call is over, with its trace. */
  onEnd?(trace?: TraceRecord): void
}

/** On whose behalf an internal call is made: session, caller, headers, and the signal that aborts it. */
export type CallOrigin = Pick<Call, 'session' | 'caller' | 'headers' | 'url' | 'retained' | 'signal'> & {
  /** The trace of the call that makes it; null when there is none. */
  trace: string | null
}

/** Makes a call the origin of internal calls. */
export function originOf({ session, caller, headers, url, retained, signal }: Call, trace: string): CallOrigin {
  return { session, caller, headers, url, retained, signal, trace }
}

/** The options of one fallback: request fields, retries and timeout. */
export interface FallbackOptions {
  parameters?: object | undefined
  retry?: z.infer<typeof Retry> | undefined
  timeout?: z.infer<typeof Timeout> | undefined
}

/** An internal call. */
export interface InnerCall {
  operation: Operation
  /** The body, as a client would send it. */
  request: object
  origin: CallOrigin
  /** Identifies the call in its session: ids and chance depend on it instead of on the order of calls. */
  key?: string | undefined
  /** Facts about the agent that makes the call. */
  agent?: AgentFacts | undefined
  /** Options of its fallbacks, in order. */
  fallbacks?: readonly FallbackOptions[] | undefined
}

/** The response to an internal call; the call ends with its last event. */
export interface InnerAnswer {
  /** Id of its trace. */
  trace: string
  reply: Reply
}

/** Turns an internal call into a call of the gateway, in the session of its origin. It is aborted with its origin. */
export function innerCall({ operation, request, origin, key, agent, fallbacks }: InnerCall): Call {
  const { trace, ...shared } = origin
  const parse = () => parseCall(operation, request)
  return {
    ...shared,
    operation,
    text: JSON.stringify(request),
    get aborted() {
      return origin.signal.aborted
    },
    inner: { parent: trace, key, agent, fallbacks },
    parse,
    parseInSlices: async () => parse(),
  }
}
