// The wire format of a compatible API: how responses and errors are converted for its clients.
import type { EventData } from '../../lib/sse.ts'
import type { ApiError } from './error.ts'
import type { ModelConversation } from './history.ts'
import type { Operation, StreamRules } from './operation.ts'
import type { Reply } from './reply.ts'

/** A compatible API: the same operations as clients of a provider's own API call them. */
export type CompatibleApi = 'openai' | 'anthropic'

/** What is known of a call when its response is converted. */
export interface WireCall {
  /** The called operation. */
  readonly operation: Pick<Operation, 'events'>
  /** The provider models that replace names without a provider, by field; absent if there are none. */
  readonly assumed?: Readonly<Record<string, string>> | undefined
}

/** How a compatible API converts responses. */
export interface Wire {
  /** The API that its clients speak. */
  api: CompatibleApi
  /** The name of the operation in this API, if it differs. */
  operation?: string
  /** The header for the id of a request, if it is not `x-request-id`. */
  idHeader?: string
  /** Provider of models that are named without one; default: the gateway's. */
  provider?: string
  /** The provider whose error format is used for faults between the gateway and the client. */
  words: string
  /** How its streams are parsed, if their events differ from those of the operation. */
  events?: StreamRules
  /** Why a whole response is not one of this API; default: the check of the operation. */
  wrongWith?(answer: unknown): string | undefined
  /** The client's whole response after these events; default: the assembly of the operation. */
  assemble?(events: readonly EventData[]): object
  /** The conversation in a body of this API, if its form differs from that of the operation. Accepts any value. */
  conversation?(body: Readonly<Record<string, unknown>>): ModelConversation
  /** Converts a request body to that of the operation, if they differ. */
  take?(body: unknown): unknown
  /** The reply in the format of the compatible API. */
  put(reply: Reply, call: WireCall): Reply
  /** The body of an error, for the request with this id. */
  error(error: ApiError, id: string): object
}
