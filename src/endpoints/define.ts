// What every router endpoint does before the gateway: body and validation.
import type { ConnectionFinder } from '../contract/connection.ts'
import { ApiError } from '../contract/error.ts'
import type { Operation } from '../contract/operation.ts'
import { parseCall } from '../contract/quick-parse.ts'
import type { Wire } from '../contract/wire.ts'
import type { Call } from '../gateway/call.ts'
import type { Gateway } from '../gateway/types.ts'
import { nextTurn } from '../lib/bare-socket.ts'
import { lazy } from '../lib/lazy.ts'
import { isLarge } from '../lib/slices.ts'
import type { Session } from '../sessions/sessions.ts'
import { type RequestBody, readBody, readForm, readJson, readLargeJson } from './body.ts'
import { withProviders } from './model-names.ts'
import { fromNamespace, STANDARD_NAMESPACE, toNamespace } from './namespace.ts'

// Needed by few calls.
const forms = lazy<typeof import('./form.ts')>(() => require('./form.ts'))
const longLists = lazy<typeof import('../contract/long-lists.ts')>(() => require('../contract/long-lists.ts'))

/** What the endpoints are configured with. */
export interface EndpointDeps {
  gateway: Gateway
  /** Largest body in bytes. */
  maxBody: number
  /** Longest that a client is waited for, in ms. */
  clientTimeout: number
  /** What requests call the service options object. */
  namespace: string
  /** Provider of the models that are named without one. */
  defaultProvider: string
}

/** One request, in its session. */
interface ClientRequest {
  request: Request
  /** The session as it is when the call begins. */
  session(): Session
  caller: Call['caller']
  /** Finds its connection. */
  hold: ConnectionFinder | undefined
  /** How the answer is put, when the client came by another door than that of this API. */
  wire?: Wire | undefined
}

/** Answers one request to a router operation. */
export async function serveOperation(
  operation: Operation,
  { request, session: sessionOf, caller, hold, wire }: ClientRequest,
  deps: EndpointDeps,
): Promise<Response> {
  const { gateway, namespace } = deps
  const bytes = await readBody(request, deps)
  const large = isLarge(bytes)
  if (large) await nextTurn()
  const type = request.headers.get('content-type')
  const isForm = operation.body === 'multipart'
  const json = () => (large ? readLargeJson(bytes, type) : readJson(bytes, type))
  const reading = isForm ? readForm(bytes, type, operation) : json()
  const read = reading instanceof Promise ? await reading : reading
  const retained = 'refused' in read || (operation.retains?.(read.value) ?? true)
  const parsing = parsingOf(read, { operation, large, wire, deps })
  const { url, headers } = request
  const session = sessionOf()
  const activity = session.begin(request)
  try {
    const { text } = read
    return await gateway.handle({
      operation,
      session,
      caller,
      text,
      retained,
      url,
      headers,
      get signal() {
        return activity.signal
      },
      get aborted() {
        return activity.aborted
      },
      get assumed() {
        return parsing.assumed
      },
      hold,
      wire,
      parse: parsing.parse,
      over: activity.end,
    })
  } catch (error) {
    // What the gateway finds out later is still in standard words.
    const standard = error instanceof ApiError && error.param?.startsWith(`${STANDARD_NAMESPACE}.`)
    throw standard ? renamed(error, namespace) : error
  }
}

interface BodyReading {
  operation: Operation
  large: boolean
  wire: Wire | undefined
  deps: Pick<EndpointDeps, 'namespace' | 'defaultProvider'>
}

/** Parses a body by the schema of its operation, and says then what it named without a provider. */
function parsingOf(read: RequestBody, { operation, large, wire, deps }: BodyReading) {
  const { namespace, defaultProvider } = deps
  const refusal = (error: unknown) => (error instanceof ApiError ? renamed(error, namespace) : error)
  const parsing: Pick<Call, 'parse'> & { assumed: Call['assumed'] } = {
    assumed: undefined,
    parse() {
      if ('refused' in read) throw read.refused
      const { invalidStatus: status, longList: field } = operation
      try {
        const body = fromNamespace(wire?.take ? wire.take(read.value) : read.value, namespace)
        const typed = operation.body === 'multipart' ? forms().typedFields(body as object, operation) : body
        const named = withProviders(typed, wire?.provider ?? defaultProvider)
        parsing.assumed = named.assumed
        if (!large) return parseCall(operation, named.body, { status })
        return longLists()
          .parseLongList({ schema: operation.request, field, status }, named.body)
          .catch((error: unknown) => {
            throw refusal(error)
          })
      } catch (error) {
        throw refusal(error)
      }
    },
  }
  return parsing
}

/** The error in the words of the deployment. */
const renamed = (error: ApiError, namespace: string): ApiError =>
  new ApiError(error.status, error.code, toNamespace(error.message, namespace), {
    param: error.param && toNamespace(error.param, namespace),
    headers: error.headers,
    type: error.type,
  })
