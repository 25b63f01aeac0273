// The wire of a door: how the answers and errors of this API are put for clients that expect another one.
import type { EventData } from '../../lib/sse.ts'
import type { ApiError } from './error.ts'
import type { ModelConversation } from './history.ts'
import type { Operation, StreamRules } from './operation.ts'
import type { Reply } from './reply.ts'

/** A compatible API: the same operations as clients of a provider's own API call them. */
export type CompatibleApi = 'openai' | 'anthropic'

/** What is known of a call when its answer is put. */
export interface WireCall {
  /** What is called. */
  readonly operation: Pick<Operation, 'events'>
  /** The models that it names without a provider, by the field; absent when it names none so. */
  readonly assumed?: Readonly<Record<string, string>> | undefined
}

/** How a door puts what its clients read. */
export interface Wire {
  /** The API that its clients speak. */
  api: CompatibleApi
  /** The header in which its clients look for the id of a request, when that is not `x-request-id`. */
  idHeader?: string
  /** Provider of the models that are named without one; the default one when left out. */
  provider?: string
  /** The provider in whose words faults between the gateway and the client refuse. */
  words: string
  /** How its streams are understood, when their events are others than those of the operation. */
  events?: StreamRules
  /** Why a whole answer is not one of this API; the operation knows when left out. */
  wrongWith?(answer: unknown): string | undefined
  /** The whole answer that a client has after these events; the operation knows when left out. */
  assemble?(events: readonly EventData[]): object
  /** The conversation of a body in the form of the door, where that is not the operation's; any value is taken. */
  conversation?(body: Readonly<Record<string, unknown>>): ModelConversation
  /** A body as the operation takes it, when clients send another. */
  take?(body: unknown): unknown
  /** The reply in the form of the door. */
  put(reply: Reply, call: WireCall): Reply
  /** The body of an error, in the answer to the request with this id. */
  error(error: ApiError, id: string): object
}
