// Decides which requests of compatible APIs reach their provider unchanged, and how much of them is parsed.
import type { Backend } from '../contract/core/backend.ts'
import { ApiError } from '../contract/core/error.ts'
import type { Operation, Prompt } from '../contract/core/operation.ts'
import type { Reply } from '../contract/core/reply.ts'
import { ROUTER_FIELDS } from '../contract/core/router-fields.ts'
import { nextTurn } from '../lib/bare-socket.ts'
import { asObject } from '../lib/values.ts'
import type { Call } from './call.ts'

/** Fields of the router that another API has too, with another meaning. */
const SHARED: Record<string, readonly string[]> = { anthropic: ['thread'] }

/** A request that is passed on to its provider. */
export type PassedRequest = NonNullable<ReturnType<typeof passedOn>>

/** The request of a call that its provider receives unchanged; undefined when the gateway handles the call itself. */
export function passedOn(call: Call, { passing }: Backend) {
  const { raw, wire, body, unread, text, url, headers, operation, session } = call
  if (!passing || !raw || !wire || !body) return undefined
  const { fields, model: named, fullModel } = raw
  if (usesGateway(fields, wire.api) || !passing.takes(fullModel, wire.api)) return undefined
  const address = url.slice(url.indexOf('/', url.indexOf('://') + 3))
  const path = address.startsWith('/v1/') ? address.slice('/v1'.length) : address
  const model = { named, sent: fullModel.slice(fullModel.indexOf('/') + 1) }
  const request = { api: wire.api, path, headers, body, text: unread ? undefined : text, model }
  let begun: Promise<Reply> | undefined
  const send = (isFaulty?: () => boolean): Promise<Reply> => {
    const { name, clock } = session
    return passing.pass({ model: fullModel, operation, session: name, clock, signal: call.signal, isFaulty }, request)
  }
  return {
    /**
     * Sends the request now, so that the provider works while the gateway parses. Resolves in the next turn of the event
     * loop: the runtime sends on another thread, which may wait for this one.
     */
    begin(): Promise<void> {
      begun = send()
      // A failure is reported by `reply`.
      begun.catch(() => {})
      return nextTurn()
    },
    /**
     * The provider's reply; sends the request unless `begin` did. Throws as `Backend.answer` does.
     * @param isFaulty whether a fault has changed the reply
     */
    reply(isFaulty?: () => boolean): Promise<Reply> {
      const sent = begun ?? send(isFaulty)
      begun = undefined
      return sent
    },
  }
}

function usesGateway(fields: Readonly<Record<string, unknown>>, api: string): boolean {
  for (const name in fields)
    if (ROUTER_FIELDS.has(name) && fields[name] != null && !SHARED[api]?.includes(name)) return true
  return false
}

/**
 * The body of a call, and whether it matches our schema. The body of a passed-on request may not: its provider
 * validates it.
 */
export interface ParsedBody {
  request: object
  isRead: boolean
}

/**
 * Parses and validates the body of a call.
 * @throws ApiError for an invalid body, unless the request is passed on.
 */
export function parseBody(call: Call, passed: PassedRequest | undefined): ParsedBody {
  try {
    return { request: call.parse() as object, isRead: true }
  } catch (error) {
    return unvalidated(error, call, passed)
  }
}

/** `parseBody` for a large body, in slices. */
export async function parseLargeBody(call: Call, passed: PassedRequest | undefined): Promise<ParsedBody> {
  await nextTurn()
  try {
    return { request: (await call.parseInSlices()) as object, isRead: true }
  } catch (error) {
    return unvalidated(error, call, passed)
  }
}

function unvalidated(error: unknown, { raw }: Call, passed: PassedRequest | undefined): ParsedBody {
  if (!passed || !raw || !(error instanceof ApiError)) throw error
  // The trace copies these two, but `metadata` may have any type and `thread` another meaning (`SHARED`).
  const { metadata, thread: _, ...fields } = raw.fields
  return { request: { ...fields, model: raw.fullModel, metadata: asObject(metadata) }, isRead: false }
}

const NO_PROMPT: Prompt = { system: '', user: '', turn: 0, tools: [], toolResult: false }

/** The prompt of a request that may be invalid. */
export function promptIn(operation: Operation, request: object): Prompt {
  try {
    return operation.prompt(request)
  } catch {
    return NO_PROMPT
  }
}
