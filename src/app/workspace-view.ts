// Reads the workspace for the inspector, which is no client of it.
import { z } from 'zod'
import { ApiError } from '../contract/core/error.ts'
import { asRoute, type Route } from '../contract/core/route.ts'
import { once } from '../lib/once.ts'
import { parseRequest } from '../schema/validation.ts'
import { pathRegex } from './unrouted.ts'

const PREFIX = '/v2/'
const Query = z.strictObject({
  path: z.string().describe('Path of the workspace with its query, URL-encoded, such as `/v2/tools?limit=10`.'),
})

const View = z.record(z.string(), z.unknown()).or(z.array(z.unknown())).describe('As the response of the path.')

/** The route that reads what the GET routes of the workspace return. */
export function viewRoute(routes: readonly Route[]): Route {
  const readable = once(() =>
    routes
      .filter(({ method, path }) => method === 'get' && path.startsWith(PREFIX))
      .map((route) => ({ route, regex: pathRegex(route.path) })),
  )
  return asRoute({
    method: 'get',
    path: '/_understudy/workspace',
    tag: 'Emulator',
    operationId: 'viewWorkspace',
    summary: 'View the workspace',
    description:
      'The response of `GET` with a path of the workspace. Faults do not apply, and the call does not count as one of a client.',
    query: Query,
    response: View,
    errors: [404],
    handle({ request, query }) {
      const { pathname, searchParams } = new URL(query.path, request.url)
      const found = readable().find(({ regex }) => regex.test(pathname))
      if (!found)
        throw new ApiError(404, 'not_found', `${pathname} is not a GET path of the workspace`, { param: 'path' })
      const { route } = found
      return route.handle({
        // Its headers name the session and the caller.
        request: new Request(request.url, { headers: request.headers }),
        params: paramsOf(route.path, pathname),
        query: route.query ? parseRequest(route.query, Object.fromEntries(searchParams), { whole: 'the query' }) : {},
        body: undefined,
      })
    },
  })
}

/** The parameters of a path that matches a route. */
function paramsOf(path: string, pathname: string): Record<string, string> {
  const values = pathname.split('/')
  return Object.fromEntries(
    path
      .split('/')
      .flatMap((part, index) => (part.startsWith(':') ? [[part.slice(1), decoded(values[index] ?? '')]] : [])),
  )
}

/** An invalid encoding is no valid id. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return ''
  }
}
