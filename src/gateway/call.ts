// What the gateway is asked: one request to an operation, of a client or from inside.
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

/** A body as its client sent it, where it names a model. */
export interface RawFields {
  fields: Readonly<Record<string, unknown>>
  /** As it is named there. */
  model: string
  /** The same with its provider. */
  fullModel: string
}

/** One request to an operation. */
export interface Call {
  operation: Operation
  session: Session
  /** Who calls, worked out when it is asked for. */
  caller(): Caller
  /** The body as it came; that of a form as the JSON of its fields. */
  text: string
  /** The same before it was read; absent of a call from inside. */
  body?: Uint8Array | undefined
  /** The body, where `text` says it otherwise: of a form, or of what is no JSON. */
  readonly unread?: Uint8Array | undefined
  /** The address and the headers as they came, before the session was taken out of the path; absent of a call from inside. */
  readonly received?: Pick<Request, 'url' | 'headers'> | undefined
  /** Whether the trace may keep the body and the answer. */
  retained: boolean
  /** The address that was called. */
  url: string
  headers: Headers
  /** Aborted when the client has gone. Made when it is asked for, which most calls never do. */
  readonly signal: AbortSignal
  /** Whether it is aborted, asked without making it. */
  readonly aborted: boolean
  /** Finds the client's connection, for what cannot be said in HTTP. */
  hold?: ConnectionFinder | undefined
  /** Of a call from inside: the trace of the call that made it, if one did, and what tells it from all others. */
  inner?: {
    parent: string | null
    key?: string | undefined
    agent?: AgentFacts | undefined
    fallbacks?: readonly FallbackOptions[] | undefined
  }
  /** What `parse` found without a provider: the full ids by the field, for the trace. */
  readonly assumed?: Readonly<Record<string, string>> | undefined
  /** How answers are put for clients of another wire; those of this API read them as they are. */
  wire?: Wire | undefined
  /** What a body of a compatible API says before anything is made of it; undefined when it names no model, or is not one. */
  readonly raw?: RawFields | undefined
  /** Parses and validates the body; throws `ApiError`. */
  parse(): unknown
  /** The same for a large one, in slices. */
  parseInSlices(): Promise<unknown>
  /** An error that is found out after parsing in the words of the deployment. */
  inOwnTerms?(error: ApiError): ApiError
  /** Told when it is over, with its trace. */
  over?(trace?: TraceRecord): void
}

/** On whose behalf a call is made from inside: its session, its caller and headers, and what aborts it. */
export type CallOrigin = Pick<Call, 'session' | 'caller' | 'headers' | 'url' | 'retained' | 'signal'> & {
  /** The trace of the call from inside which it is made; null when there is none. */
  trace: string | null
}

/** A call as the origin of others. */
export const originOf = ({ session, caller, headers, url, retained, signal }: Call, trace: string): CallOrigin => ({
  session,
  caller,
  headers,
  url,
  retained,
  signal,
  trace,
})

/** What one of the fallbacks of a call has of its own: fields of its request, its retries, and its time. */
export interface FallbackOptions {
  parameters?: object | undefined
  retry?: z.infer<typeof Retry> | undefined
  timeout?: z.infer<typeof Timeout> | undefined
}

/** A call from inside. */
export interface InnerCall {
  operation: Operation
  /** The body, as a client would send it. */
  request: object
  origin: CallOrigin
  /** Tells the call from all others of its session: ids and chance are then functions of it, and not of the order of the calls. */
  key?: string
  /** Of a call that an agent makes. */
  agent?: AgentFacts
  /** Of its fallbacks, in their order. */
  fallbacks?: readonly FallbackOptions[]
}

/** Its answer; the call ends with the last of its events. */
export interface InnerAnswer {
  /** Id of its trace. */
  trace: string
  reply: Reply
}

/** The call as the gateway takes it: charged to the session of its origin, gone when that has gone. */
export function innerCall({ operation, request, origin, key, agent, fallbacks }: InnerCall): Call {
  const { session, caller, headers, url, retained, signal, trace } = origin
  const text = JSON.stringify(request)
  const parse = () => parseCall(operation, request)
  return {
    operation,
    session,
    caller,
    text,
    retained,
    url,
    headers,
    signal,
    get aborted() {
      return signal.aborted
    },
    inner: { parent: trace, key, agent, fallbacks },
    parse,
    parseInSlices: async () => parse(),
  }
}
