// Handles A2A calls with the transports of the library; loaded with the first call.
import { AgentCard, type AgentInterface } from '@a2a-js/sdk'
import { LegacyJsonRpcTransportHandler } from '@a2a-js/sdk/compat/v0_3/server'
import { type A2ARequestHandler, JsonRpcTransportHandler, ServerCallContext, validateVersion } from '@a2a-js/sdk/server'
import type { Fields } from '../../contract/workspace/record.ts'
import type { RequestBody } from '../../endpoints/body.ts'
import { toResponse } from '../../gateway/stream/respond.ts'
import { dataEvent, type EventBatch } from '../../lib/sse.ts'
import { type AgentCall, isRefusal, requestHandler } from './handler.ts'

/** The context of a call without the agent's card. */
export type AgentCallParts = Omit<AgentCall, 'card'> & { url: string }

/** Versions of the protocol, the preferred one first. */
const VERSIONS = ['1.0', '0.3'] as const
const MODES = ['text/plain', 'application/json']

/** The card of an agent that is served at `url`. */
function cardOf(agent: Fields, url: string): AgentCard {
  const { key, display_name, role, description, skills, version } = agent
  const name = String(display_name ?? key)
  const skill = (id: string, about: string) => ({
    id,
    name: id,
    description: about,
    tags: [String(role)],
    examples: [],
    inputModes: [],
    outputModes: [],
    securityRequirements: [],
  })
  const own = Array.isArray(skills) ? skills.map(String) : []
  return {
    name,
    description: String(description),
    supportedInterfaces: VERSIONS.map(
      (protocolVersion): AgentInterface => ({ url, protocolBinding: 'JSONRPC', tenant: '', protocolVersion }),
    ),
    provider: undefined,
    version: String(version ?? '1.0.0'),
    capabilities: { streaming: true, pushNotifications: false, extendedAgentCard: false, extensions: [] },
    securitySchemes: {},
    securityRequirements: [],
    defaultInputModes: MODES,
    defaultOutputModes: MODES,
    skills: own.length > 0 ? own.map((id) => skill(id, id)) : [skill(String(key), String(description))],
    signatures: [],
  }
}

const VERSION = 'a2a-version'
const LEGACY = '0.3'
/** In A2A, a client that names no version uses 0.3. */
const versionOf = ({ headers }: Request) =>
  headers
    .get(VERSION)
    ?.trim()
    .replace(/^(\d+\.\d+)\.\d+$/, '$1') || LEGACY

/** The card of an agent in the client's version. That of 0.3 also has the URLs of 1.0. */
export async function answerCard(request: Request, parts: AgentCallParts): Promise<Response> {
  const card = cardOf(parts.agent, parts.url)
  const headers = { vary: 'A2A-Version' }
  const shown = AgentCard.toJSON(card) as { supportedInterfaces?: unknown }
  if (versionOf(request) !== LEGACY) return Response.json(shown, { headers })
  // The library translates cards only for this method.
  const handler: A2ARequestHandler = {
    ...requestHandler({ ...parts, card }),
    getAuthenticatedExtendedAgentCard: async () => card,
  }
  const call = { jsonrpc: '2.0', id: 1, method: 'agent/getAuthenticatedExtendedCard' }
  const answer = await new LegacyJsonRpcTransportHandler(handler).handle(call, new ServerCallContext({}))
  const legacy = 'result' in answer ? (answer.result as object) : {}
  return Response.json({ ...legacy, supportedInterfaces: shown.supportedInterfaces }, { headers })
}

interface Dialect {
  transport: { handle(body: Record<string, unknown>, context: ServerCallContext): Promise<object> }
  errorOf(error: unknown): object
}

function dialectOf(version: string, handler: A2ARequestHandler): Dialect {
  const [Current, Legacy] = [JsonRpcTransportHandler, LegacyJsonRpcTransportHandler]
  return version === LEGACY
    ? { transport: new Legacy(handler), errorOf: Legacy.mapToLegacyJSONRPCError }
    : { transport: new Current(handler), errorOf: Current.mapToJSONRPCError }
}

/** Handles a JSON-RPC call with its parsed body. */
export async function answerCall(request: Request, given: RequestBody, parts: AgentCallParts): Promise<Response> {
  const headers = { 'x-understudy-session': parts.owner.session.name }
  const read = envelopeOf(given)
  if ('error' in read) return Response.json({ jsonrpc: '2.0', id: null, error: read.error }, { headers })
  const { body } = read
  const card = cardOf(parts.agent, parts.url)
  const version = versionOf(request)
  const { transport, errorOf } = dialectOf(version, requestHandler({ ...parts, card }))
  const failure = (error: unknown) => ({ jsonrpc: '2.0', id: body.id ?? null, error: errorOf(error) })
  try {
    validateVersion(version, card, 'JSONRPC')
    const answer = await transport.handle(body, new ServerCallContext({ requestedVersion: version }))
    if (!isStream(answer)) return Response.json(answer, { headers })
    // An error before the first event is no stream.
    const first = await answer.next()
    return await toResponse({
      ...{ status: 200, headers, usage: null, fixture: null, generated: false },
      body: { kind: 'events', events: eventsOf(first, answer, failure) },
    })
  } catch (error) {
    return Response.json(failure(error), { headers })
  }
}

const isStream = (answer: object): answer is AsyncGenerator<object, void, undefined> => Symbol.asyncIterator in answer

async function* eventsOf(
  first: IteratorResult<object, void>,
  rest: AsyncGenerator<object, void, undefined>,
  failure: (error: unknown) => object,
): AsyncGenerator<EventBatch> {
  try {
    if (!first.done) yield [dataEvent(first.value)]
    for await (const data of rest) yield [dataEvent(data)]
  } catch (error) {
    // The status has been sent, so the last event of the stream reports the error.
    if (!isRefusal(error)) throw error
    yield [dataEvent(failure(error))]
  } finally {
    await rest.return()
  }
}

type Envelope = { body: Record<string, unknown> } | { error: { code: number; message: string } }

/** A JSON-RPC 2.0 call; an invalid one gets the error codes of JSON-RPC. */
function envelopeOf(received: RequestBody): Envelope {
  if ('refused' in received) return { error: { code: -32700, message: `Parse error: ${received.refused.message}` } }
  const { value } = received
  const invalid = (why: string) => ({ error: { code: -32600, message: `Invalid Request: ${why}` } })
  if (Array.isArray(value)) return invalid('batches are not supported, send one call')
  if (typeof value !== 'object' || value === null) return invalid('the body must be an object')
  const body = value as Record<string, unknown>
  const { id = null } = body
  if (body.jsonrpc !== '2.0') return invalid("'jsonrpc' must be '2.0'")
  if (typeof body.method !== 'string' || body.method === '') return invalid("'method' must be the name of a method")
  if (id !== null && typeof id !== 'string' && !Number.isInteger(id))
    return invalid("'id' must be a string, an integer, or null")
  return { body }
}
