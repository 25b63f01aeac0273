// Common parts of all responses: an id, CORS headers for pages of allowed origins, and counts by status.
import {
  COMMON_HEADERS,
  FAULTS,
  INSTANCE,
  NEW_SESSION,
  REQUEST_ID,
  ROUTER_HEADERS,
  SESSION_INCOMPLETE,
  TRACE_ID,
} from '../contract/core/answer-headers.ts'
import type { ApiError } from '../contract/core/error.ts'
import type { Instance } from '../contract/core/instance.ts'
import { refusalOf } from '../contract/core/refusal.ts'
import type { Wire } from '../contract/core/wire.ts'
import type { ResponseCounts } from '../control/types.ts'
import { CLIENT_GONE } from '../gateway/outcome.ts'
import { sentStatus } from '../gateway/stream/respond.ts'
import { headerText, soundHeaders } from '../lib/header-text.ts'
import { uuidOf } from '../lib/ids.ts'
import type { SessionGap } from '../sessions/session.ts'

const OTHERS = ['x-understudy-warning', 'retry-after', 'retry-after-ms', 'age', 'www-authenticate', 'allow', '*']
const EXPOSED = [...Object.keys(COMMON_HEADERS), ...Object.keys(ROUTER_HEADERS), ...OTHERS].join(', ')

/** Sets the ids of responses. */
export type RequestIds = ReturnType<typeof requestIds>

/** Sets the ids of responses that have none, in the order of their creation, and the name of this process. */
export function requestIds(instance: Instance) {
  let count = 0
  const named = () => ({ [REQUEST_ID]: uuidOf(`request:${++count}`), [INSTANCE]: instance.name })
  return {
    /** The response for an error, in the format of the called API. */
    refusal(error: ApiError, wire: Wire | undefined): Response {
      const { status } = error
      // APIs with the id in their bodies have it already.
      const needsId = wire !== undefined && error.headers[REQUEST_ID] === undefined
      const headers = needsId ? { ...error.headers, ...named() } : error.headers
      return Response.json(refusalOf(error, wire, headers), { status, headers: soundHeaders(headers) })
    },
    /** Sets the id of the response, also under the header name of another API's clients. */
    mark(response: Response, also: string | undefined): void {
      const { headers } = response
      // Responses of calls have an id already: that of the trace, or that of a real provider or a fault, which may be
      // none.
      if (headers.has(INSTANCE) && !headers.has(REQUEST_ID)) return
      if (!headers.has(REQUEST_ID)) for (const [name, value] of Object.entries(named())) headers.set(name, value)
      const id = headers.get(REQUEST_ID) ?? ''
      // A provider's own id stays under its own name.
      const isOurs = !headers.has(TRACE_ID) || headers.get(TRACE_ID) === id
      if (also !== undefined && isOurs && !headers.has(also)) headers.set(also, id)
    },
  }
}

/**
 * Tells in a response that it created a session, or that the session may lack calls. Most requests cost this one
 * comparison.
 */
export function sessionNews() {
  const begun = new WeakMap<Request, SessionGap>()
  let unanswered = 0
  return {
    begins(request: Request, gap: SessionGap): void {
      if (!begun.has(request)) unanswered++
      begun.set(request, gap)
    },
    announced(request: Request, response: Response): void {
      const gap = unanswered === 0 ? undefined : begun.get(request)
      if (gap === undefined) return
      begun.delete(request)
      unanswered--
      if (gap === 'called') response.headers.set(NEW_SESSION, 'true')
      else response.headers.set(SESSION_INCOMPLETE, gap)
    },
  }
}

/** The response to a CORS preflight of an allowed origin. */
export const preflight = (request: Request): Response => {
  const requestedHeaders = request.headers.get('access-control-request-headers')
  return new Response(null, {
    status: 204,
    headers: {
      'access-control-allow-methods': 'GET, POST, PUT, PATCH, DELETE',
      'access-control-allow-headers': requestedHeaders === null ? '*' : headerText(requestedHeaders),
      'access-control-max-age': '600',
      // Some browsers ask separately before a public page may call a local address.
      ...(request.headers.has('access-control-request-private-network') && {
        'access-control-allow-private-network': 'true',
      }),
    },
  })
}

/** Whether a request is a CORS preflight (Fetch standard, "CORS-preflight request"). */
export const isPreflight = ({ method, headers }: Request): boolean =>
  method === 'OPTIONS' && headers.has('access-control-request-method')

/** Adds the CORS headers of an allowed origin to a response. */
export function readableBy(origin: string, response: Response): void {
  response.headers.set('access-control-allow-origin', headerText(origin))
  response.headers.append('vary', 'Origin')
  response.headers.set('access-control-expose-headers', EXPOSED)
}

/** Whether a response is sent as fast as it is read: it is no stream, and no call, whose end the gateway notes. */
export function isWhole({ headers }: Response): boolean {
  const type = headers.get('content-type') ?? ''
  if (type.startsWith('text/event-stream')) return false
  return !headers.has(TRACE_ID) || (type.startsWith('application/json') && !headers.get(FAULTS))
}

/** A new set of counts. */
export function createResponseCounts(): ResponseCounts {
  const counts = new Map<number | null, number>()
  return {
    add: (status) => void counts.set(status, (counts.get(status) ?? 0) + 1),
    all: () => [...counts],
  }
}

/** The status that the client of a request receives; null if it receives none. */
export function statusFor(request: Request, response: Response): number | null {
  const status = sentStatus(response)
  return status === CLIENT_GONE && request.signal.aborted ? null : status
}
