// What every answer has, whoever made it: an id, and what a page of an allowed origin needs to read it.
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
import { headerText, soundHeaders } from '../lib/header-text.ts'
import { uuidOf } from '../lib/ids.ts'
import type { SessionGap } from '../sessions/session.ts'

const OTHERS = ['x-understudy-warning', 'retry-after', 'retry-after-ms', 'age', 'www-authenticate', 'allow', '*']
const EXPOSED = [...Object.keys(COMMON_HEADERS), ...Object.keys(ROUTER_HEADERS), ...OTHERS].join(', ')

/** Names the answers. */
export interface RequestIds {
  /** The answer of an error, as a door has it. */
  refusal(error: ApiError, wire: Wire | undefined): Response
  /** Gives the answer its id, under the name as well by which clients of another API look for it. */
  mark(response: Response, also: string | undefined): void
}

/** Gives the answers an id that have none, in the order in which they are made, and the name of this process. */
export function requestIds(instance: Instance): RequestIds {
  let count = 0
  const named = () => ({ [REQUEST_ID]: uuidOf(`request:${++count}`), [INSTANCE]: instance.name })
  return {
    refusal(error, wire) {
      const { status } = error
      // Such as say it in their bodies have it before.
      const needsId = wire !== undefined && error.headers[REQUEST_ID] === undefined
      const headers = needsId ? { ...error.headers, ...named() } : error.headers
      return Response.json(refusalOf(error, wire, headers), { status, headers: soundHeaders(headers) })
    },
    mark(response, also) {
      const { headers } = response
      // Those of a call are there: its trace's id, or what a real provider or a fault says, which may be nothing.
      if (headers.has(INSTANCE) && !headers.has(REQUEST_ID)) return
      if (!headers.has(REQUEST_ID)) for (const [name, value] of Object.entries(named())) headers.set(name, value)
      if (also !== undefined && !headers.has(also)) headers.set(also, headers.get(REQUEST_ID) ?? '')
    },
  }
}

/** Says in an answer that a session begins with it, or may lack calls; most requests cost this one comparison. */
export function sessionNews(): {
  begins(request: Request, news: SessionGap): void
  announced(request: Request, response: Response): void
} {
  const begun = new WeakMap<Request, SessionGap>()
  let unanswered = 0
  return {
    begins(request, news) {
      if (!begun.has(request)) unanswered++
      begun.set(request, news)
    },
    announced(request, response) {
      const news = unanswered === 0 ? undefined : begun.get(request)
      if (news === undefined) return
      begun.delete(request)
      unanswered--
      if (news === 'called') response.headers.set(NEW_SESSION, 'true')
      else response.headers.set(SESSION_INCOMPLETE, news)
    },
  }
}

/** The answer to the question of a browser whether a page of an allowed origin may make a call. */
export const preflight = (request: Request): Response => {
  const asked = request.headers.get('access-control-request-headers')
  return new Response(null, {
    status: 204,
    headers: {
      'access-control-allow-methods': 'GET, POST, PUT, PATCH, DELETE',
      'access-control-allow-headers': asked === null ? '*' : headerText(asked),
      'access-control-max-age': '600',
      // Some browsers ask once more before a page of the web may call this machine.
      ...(request.headers.has('access-control-request-private-network') && {
        'access-control-allow-private-network': 'true',
      }),
    },
  })
}

/** Whether a request is a CORS preflight (Fetch standard, "CORS-preflight request"). */
export const isPreflight = ({ method, headers }: Request): boolean =>
  method === 'OPTIONS' && headers.has('access-control-request-method')

/** Lets the page of an allowed origin read an answer. */
export function readableBy(origin: string, response: Response): void {
  response.headers.set('access-control-allow-origin', headerText(origin))
  response.headers.append('vary', 'Origin')
  response.headers.set('access-control-expose-headers', EXPOSED)
}

/** Whether an answer leaves as fast as it is read: it is no stream, and no call, whose end its gateway knows. */
export function isWhole({ headers }: Response): boolean {
  const type = headers.get('content-type') ?? ''
  if (type.startsWith('text/event-stream')) return false
  return !headers.has(TRACE_ID) || (type.startsWith('application/json') && !headers.get(FAULTS))
}
