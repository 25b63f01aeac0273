// Notes the calls of the workspace API, and how they ended, for verdicts.
import { ApiError } from '../contract/core/error.ts'
import type { Route } from '../contract/core/route.ts'
import { CLIENT_GONE } from '../gateway/outcome.ts'
import { clientMark } from '../gateway/record/client-mark.ts'
import { isDated, retryAfter } from '../gateway/retry.ts'
import { realClock } from '../lib/clock.ts'
import { fingerprint } from '../lib/ids.ts'
import { asObject, parsedJson } from '../lib/values.ts'
import { withoutVolatile } from '../lib/volatile.ts'
import type { WorkspaceCalls } from '../observers/workspace-calls.ts'
import { EMULATED } from '../resources/through-scenario.ts'
import type { Session, Sessions } from '../sessions/sessions.ts'

/** The dependencies. */
interface NoteDeps {
  calls: WorkspaceCalls
  sessions: Pick<Sessions, 'known'>
  nameOf(request: Request): string
  /** The session that handled a request. */
  sessionOf(request: Request): Session
}

/** The request without its headers; undefined if its body could not be read. */
export interface SentParts {
  body: { value: unknown } | undefined
}

/** Notes the result of a call, and returns or throws what `answer` does. */
export type NoteCall = (
  route: Route,
  request: Request,
  answer: (sent: SentParts) => Promise<Response>,
) => Promise<Response>

/** Notes the calls of the workspace, but not those of the control API. */
export const workspaceNotes =
  ({ calls, sessions, nameOf, sessionOf }: NoteDeps): NoteCall =>
  async (route, request, answer) => {
    const sent: SentParts = { body: undefined }
    if (!EMULATED.test(route.path)) return answer(sent)
    const name = nameOf(request)
    const call = calls.begin(name)
    const began = sessions.known(name)?.clock.now()
    const arrived = realClock.now()
    const copy = route.readsBody && isShort(request) ? request.clone() : undefined
    const end = async (status: number, headers: Headers) => {
      if (copy) sent.body = await copy.text().then(remoteCall, () => undefined)
      const session = sessionOf(request)
      const ended = session.clock.now()
      const { pathname, search } = new URL(request.url)
      const { method } = request
      call.end(session, {
        outcome: status < 400 ? 'succeeded' : status === CLIENT_GONE ? 'canceled' : 'http_error',
        place: `${method} ${pathname}`,
        note: () => ({
          ...{ operation: route.operationId, method, status },
          request: fingerprint(`${method} ${pathname}${search} ${bodyText(sent.body?.value)}`),
          ...{ began: began ?? ended, ended, arrived, left: realClock.now() },
          ...waitOf(headers, session),
          // If the body could not be read, it is unknown whether the call was repeated.
          ...((!sent.body || headers.has('x-should-retry')) && { advised: true as const }),
          client: clientMark(request.headers, session.secret),
        }),
      })
    }
    try {
      const response = await answer(sent)
      await end(response.status, response.headers)
      return response
    } catch (error) {
      if (error instanceof ApiError) await end(error.status, new Headers(error.headers))
      else await end(500, new Headers())
      throw error
    }
  }

/** Maximum size of a body that is copied if its handler reads it itself. */
const MAX_COPIED = 1_000_000
const isShort = ({ headers }: Request): boolean => Number(headers.get('content-length') ?? Number.NaN) <= MAX_COPIED

/** A JSON-RPC call without its ids, which are new for each attempt; undefined if it is not JSON. */
function remoteCall(text: string): SentParts['body'] {
  const { id: _, ...call } = asObject(parsedJson(text)) ?? {}
  return Object.keys(call).length === 0 ? undefined : { value: withoutVolatile(JSON.stringify(call)).text }
}

function waitOf(headers: Headers, { clock }: Session): { wait: number | null } {
  const noted = Object.fromEntries(headers)
  const isKnown = clock.kind === 'real' || !isDated(noted)
  return { wait: isKnown ? (retryAfter(noted, clock.now()) ?? null) : null }
}

/** A body as text: files by name and size. */
const bodyText = (body: unknown): string =>
  JSON.stringify(body, (_, value: unknown) => (value instanceof File ? [value.name, value.size, value.type] : value)) ??
  ''
