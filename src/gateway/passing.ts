// Which requests of compatible APIs a provider gets as they came, and how much of them is understood here.
import type { Backend, PassingBackend, RawRequest } from '../contract/core/backend.ts'
import { ApiError } from '../contract/core/error.ts'
import type { Operation, Prompt } from '../contract/core/operation.ts'
import type { Reply } from '../contract/core/reply.ts'
import { nextTurn } from '../lib/bare-socket.ts'
import { realClock } from '../lib/clock.ts'
import { asObject } from '../lib/values.ts'
import type { Call } from './call.ts'

/** Fields of the router's own API, which no provider knows: a request with one of them is acted on here. */
const OWN_FIELDS = [
  'svc',
  'name',
  'fallbacks',
  'retry',
  'cache',
  'load_balancer',
  'timeout',
  'identity',
  'contact',
  'thread',
  'variables',
  'template_engine',
  'guardrails',
  'knowledge',
]
/** Those that another API has too, where they mean something else. */
const SHARED: Record<string, readonly string[]> = { anthropic: ['thread'] }

/** The request of a call whose provider gets it as it came; undefined when the call is answered from what it means. */
export function passedOn(call: Call, { passing }: Backend): PassedRequest | undefined {
  const { raw, wire, body, url, headers } = call
  if (!passing || !raw || !wire || !body) return undefined
  const { fields, model: named, fullModel } = raw
  const isOurs = (field: string) => fields[field] != null && !SHARED[wire.api]?.includes(field)
  if (OWN_FIELDS.some(isOurs) || !passing.takes(fullModel, wire.api)) return undefined
  const address = url.slice(url.indexOf('/', url.indexOf('://') + 3))
  const path = address.startsWith('/v1/') ? address.slice('/v1'.length) : address
  const model = { named, sent: fullModel.slice(fullModel.indexOf('/') + 1) }
  return new PassedRequest(call, passing, { api: wire.api, path, headers, body, model })
}

/** Time in which a request has certainly left. */
const SENDING_MS = 1

/** A request on its way to its provider. */
export class PassedRequest {
  readonly #call: Call
  readonly #passing: PassingBackend
  readonly #request: RawRequest
  #begun: Promise<Reply> | undefined

  constructor(call: Call, passing: PassingBackend, request: RawRequest) {
    this.#call = call
    this.#passing = passing
    this.#request = request
  }

  /**
   * Sends it now: what is left to do here is done while its provider works. The runtime sends on a thread of its own, which
   * may have to wait for this one, so this resolves once it has had time to, or the reply is there.
   */
  begin(): Promise<unknown> {
    this.#begun = this.#send()
    // Who asks for the reply hears of what it fails with.
    return Promise.race([this.#begun.catch(() => {}), realClock.sleep(SENDING_MS)])
  }

  /** What its provider sends to it; sent now, unless it has been begun. Throws as `Backend.answer` does. */
  reply(): Promise<Reply> {
    const begun = this.#begun ?? this.#send()
    this.#begun = undefined
    return begun
  }

  #send(): Promise<Reply> {
    const { operation, signal, raw } = this.#call
    return this.#passing.pass({ model: raw?.fullModel ?? '', operation, signal }, this.#request)
  }
}

/** The body of a call, and whether it fits our schema; one that is passed on need not: it is the provider who says so. */
export interface ParsedBody {
  request: object
  isRead: boolean
}

/**
 * Parses and validates the body of a call.
 * @throws ApiError for what is not valid, unless it is passed on.
 */
export function parseBody(call: Call, passed: PassedRequest | undefined): ParsedBody {
  try {
    return { request: call.parse() as object, isRead: true }
  } catch (error) {
    return unread(error, call, passed)
  }
}

/** The same for a large one, in slices. */
export async function parseLargeBody(call: Call, passed: PassedRequest | undefined): Promise<ParsedBody> {
  await nextTurn()
  try {
    return { request: (await call.parseInSlices()) as object, isRead: true }
  } catch (error) {
    return unread(error, call, passed)
  }
}

function unread(error: unknown, { raw }: Call, passed: PassedRequest | undefined): ParsedBody {
  if (!passed || !raw || !(error instanceof ApiError)) throw error
  // The trace repeats these two: one may be of any type, and the other one means something else (`SHARED`).
  const { metadata, thread: _, ...fields } = raw.fields
  return { request: { ...fields, model: raw.fullModel, metadata: asObject(metadata) }, isRead: false }
}

const NO_PROMPT: Prompt = { system: '', user: '', turn: 0, tools: [], toolResult: false }

/** The conversation of a body that may be of any shape. */
export function promptIn(operation: Operation, request: object): Prompt {
  try {
    return operation.prompt(request)
  } catch {
    return NO_PROMPT
  }
}
