// The HTTP surface: who may call, which session, the routes, and the one place that renders errors. No listening, no I/O.
import { Elysia } from 'elysia'
import { ApiError, envelope } from './contract/error.ts'
import { serveOperation } from './endpoints/define.ts'
import { operations } from './endpoints/index.ts'
import type { Gateway } from './gateway/handle.ts'
import { DEFAULT_SESSION, type Session, type Sessions } from './sessions/sessions.ts'

/** What the routes work on. */
export interface AppDeps {
  sessions: Sessions
  gateway: Gateway
  maxBody: number
}

/** The application over its dependencies: give its `fetch` a request, get the response. */
export function createApp(deps: AppDeps) {
  const app = new Elysia({ normalize: false })
  app.onError(({ error, code }) => {
    if (code === 'NOT_FOUND')
      return render(new ApiError(404, 'not_found', 'there is no such path; see /swagger for all of them'))
    return render(error)
  })
  for (const operation of operations) {
    app.post(
      operation.path,
      ({ request }) => serveOperation(operation, request, sessionOf(request, deps.sessions), deps),
      {
        parse: 'none',
      },
    )
  }
  app.get('/_understudy/traces', ({ request }) => {
    const { data, hasMore } = sessionOf(request, deps.sessions).traces.list({ limit: 50 })
    return Response.json({ object: 'list', data, has_more: hasMore })
  })
  return app
}

/** The session that a request's token names. */
function sessionOf(request: Request, sessions: Sessions): Session {
  const token = /^Bearer\s+(\S+)$/i.exec(request.headers.get('authorization') ?? '')?.[1]
  if (!token)
    throw new ApiError(
      401,
      'missing_token',
      "send a token: 'Authorization: Bearer <token>' (any token works unless --token is set)",
    )
  const named = /(?:^|#)session:(.+)$/.exec(token)?.[1]
  return sessions.get(request.headers.get('x-understudy-session') ?? named ?? DEFAULT_SESSION)
}

function render(error: unknown): Response {
  const known =
    error instanceof ApiError ? error : new ApiError(500, 'internal_error', 'Understudy failed; this is a bug in it')
  return Response.json(envelope(known), { status: known.status, headers: known.headers })
}
