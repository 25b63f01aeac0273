// What every answer has, whoever made it: an id, and what a page of an allowed origin needs to read it.
import { COMMON_HEADERS, INSTANCE, NEW_SESSION, REQUEST_ID, ROUTER_HEADERS } from '../contract/answer-headers.ts'
import type { Instance } from '../contract/instance.ts'
import { headerText } from '../lib/header-text.ts'
import { uuidOf } from '../lib/ids.ts'

const OTHERS = ['x-understudy-warning', 'retry-after', 'retry-after-ms', 'age', 'www-authenticate', 'allow', '*']
const EXPOSED = [...Object.keys(COMMON_HEADERS), ...Object.keys(ROUTER_HEADERS), ...OTHERS].join(', ')

/** Gives the answers an id that have none, in the order in which they are made, and the name of this process. */
export function requestIds(instance: Instance): (response: Response) => Response {
  let count = 0
  return (response) => {
    // Those of a call are there: its trace's id, or what a provider says in a fault.
    if (!response.headers.has(REQUEST_ID)) {
      response.headers.set(REQUEST_ID, uuidOf(`request:${++count}`))
      response.headers.set(INSTANCE, instance.name)
    }
    return response
  }
}

/** Says in an answer that a session begins with it; most requests cost this one comparison. */
export function sessionNews(): {
  begins(request: Request): void
  announced(request: Request, response: Response): Response
} {
  const begun = new WeakSet<Request>()
  let unanswered = 0
  return {
    begins(request) {
      unanswered++
      begun.add(request)
    },
    announced(request, response) {
      if (unanswered > 0 && begun.delete(request)) {
        unanswered--
        response.headers.set(NEW_SESSION, 'true')
      }
      return response
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

export const isPreflight = ({ method, headers }: Request): boolean =>
  method === 'OPTIONS' && headers.has('access-control-request-method')

/** Lets the page of an allowed origin read an answer. */
export function readableBy(origin: string, response: Response): Response {
  response.headers.set('access-control-allow-origin', headerText(origin))
  response.headers.append('vary', 'Origin')
  response.headers.set('access-control-expose-headers', EXPOSED)
  return response
}
