// The HTTP surface: access, the router operations, and the only place that renders errors. It does not listen and does
// no I/O. Everything beside the operations is loaded on first use (app/routes.ts).
import {
  asReceived,
  callerOf,
  checkHost,
  checkToken,
  requireToken,
  sessionName,
  tokenOf,
  withoutPrefix,
} from './access.ts'
import {
  createResponseCounts,
  isPreflight,
  isWhole,
  preflight,
  type RequestIds,
  readableBy,
  requestIds,
  sessionNews,
  statusFor,
} from './app/answer.ts'
import { balancerNotes } from './app/balancer-notes.ts'
import { allowedPage, checkOrigin } from './app/origins.ts'
import { createRefusedCallLog } from './app/refused-calls.ts'
import type { App, AppDeps } from './app/types.ts'
import { compatApiOf, compatApis } from './compat/index.ts'
import type { ConnectionFinder } from './contract/core/connection.ts'
import { bugError } from './contract/core/error.ts'
import { storageError } from './contract/core/storage-error.ts'
import type { Wire } from './contract/core/wire.ts'
import { EVENT } from './contract/workspace/record.ts'
import { AGENT_TASK } from './contract/workspace/task-record.ts'
import { serveOperation } from './endpoints/define.ts'
import { type Endpoint, endpoints } from './endpoints/index.ts'
import { pageRequest } from './inspector/page-paths.ts'
import { nextTurn } from './lib/bare-socket.ts'
import { lazy } from './lib/lazy.ts'
import { once } from './lib/once.ts'
import type { Session } from './sessions/sessions.ts'

const routes = lazy<typeof import('./app/routes.ts')>(() => require('./app/routes.ts'))
const verdictModule = lazy<typeof import('./app/verdicts.ts')>(() => require('./app/verdicts.ts'))
const inspector = lazy<typeof import('./inspector/page-file.ts')>(() => require('./inspector/page-file.ts'))

/** The operation at a path. */
interface OperationPath {
  endpoint: Endpoint
  /** The wire format of the path's compatible API. */
  wire?: () => Wire
}

/**
 * The operations by path, with the wire format of the path's compatible API: they need no router, which takes long to
 * start.
 */
const OPERATIONS: ReadonlyMap<string, OperationPath> = new Map([
  ...endpoints.map((endpoint) => [endpoint.path, { endpoint }] as const),
  ...compatApis.flatMap(({ paths, wire }) =>
    Object.entries(paths).map(([path, endpoint]) => [path, { endpoint, wire: () => wire(path) }] as const),
  ),
])
/** The path of a request: the server has normalized its URL, so that it need not be parsed again. */
function pathIn(url: string): string {
  const begin = url.indexOf('/', url.indexOf('://') + 3)
  const end = url.slice(begin).search(/[?#]/)
  return end < 0 ? url.slice(begin) : url.slice(begin, begin + end)
}
/** The operation that a request calls. */
const operationAt = ({ method }: Request, pathname: string) =>
  method === 'POST' ? OPERATIONS.get(pathname.endsWith('/') ? pathname.slice(0, -1) : pathname) : undefined
const isCalled = (pathname: string) =>
  pathname.startsWith('/v2/') || compatApis.some(({ prefix }) => pathname.startsWith(prefix))

const READING = ['GET', 'HEAD', 'OPTIONS']

const WORK = [EVENT, AGENT_TASK]
/** Whether a session has background work. */
const hasWork = (session: Session) => session.keyedKinds().some((kind) => WORK.includes(kind))

/** Renders errors in the format of the called API. */
const rendererOf =
  ({ report }: Pick<AppDeps, 'report'>, ids: RequestIds) =>
  (thrown: unknown, request: Request): Response => {
    const storageProblem = storageError(thrown)
    if (!storageProblem) report(thrown)
    const refusal = ids.refusal(storageProblem ?? bugError(), compatApiOf(request)?.wire())
    return request.method === 'HEAD' ? new Response(null, refusal) : refusal
  }

/** Completes responses as the gateway does those of calls: an id, and a note to the connection's owner. */
const completing =
  (ids: RequestIds) =>
  async (
    answered: Response | Promise<Response>,
    request: Request,
    hold: ConnectionFinder | undefined,
  ): Promise<Response> => {
    const response = await answered
    ids.mark(response, compatApiOf(request)?.wire().idHeader)
    if (isWhole(response)) hold?.leaves?.()
    return response
  }

/** Serves the inspector: its page, or its first calls; `beside` loads what it requests next. */
const inspecting =
  ({ access, sessions, report }: AppDeps, loadRoutes: () => unknown) =>
  (request: Request): Response | Promise<Response> | undefined => {
    const part = pageRequest(request)
    if (part === 'page') return inspector().pageResponse(request)
    if (part !== 'calls') return undefined
    checkToken(request, access)
    // The page waits only for these calls: the rest is loaded while the browser renders.
    void nextTurn().then(loadRoutes).catch(report)
    return inspector().firstCalls(sessions)
  }

/** The application over its dependencies. */
export function createApp(deps: AppDeps): App {
  const { access, sessions } = deps
  const refused = createRefusedCallLog()
  const sessionOf = (request: Request, looks = false) => {
    try {
      return findSession(request, looks)
    } catch (error) {
      if (isCalled(pathIn(request.url))) refused.note(request, error, 'session')
      throw error
    }
  }
  /** Notes a call that was refused before its session was looked for. One that only reads proves nothing in any case. */
  const noteRefused = (request: Request, error: unknown) => {
    if (!READING.includes(request.method) && isCalled(pathIn(withoutPrefix(request).url))) refused.note(request, error)
  }
  const admit = (request: Request, check: () => void) => {
    try {
      check()
    } catch (error) {
      noteRefused(request, error)
      throw error
    }
  }
  const findSession = (request: Request, looks: boolean) => {
    const name = sessionName(request, tokenOf(request))
    if (looks) return deps.gateway.runs.enter(sessions.peek(name))
    const session = sessions.get(name)
    const gap = session.slot.announce()
    if (gap) begins(request, gap)
    return deps.gateway.runs.enter(session)
  }
  const { begins, announced } = sessionNews()
  const noteBalancer = balancerNotes(sessions)
  const ids = requestIds(deps.about.instance)
  const render = rendererOf(deps, ids)
  const responses = createResponseCounts()
  const mark = (response: Response) => ids.mark(response, undefined)
  const verdicts = once(() => verdictModule().createVerdicts(deps, refused))
  const loadRoutes = once(() =>
    routes().createRoutes(deps, { sessionOf, render, responses, mark, verdicts: verdicts() }),
  )
  // Events and tasks of an earlier process continue at once.
  if (sessions.list().some(hasWork)) loadRoutes()
  const call = ({ endpoint, wire }: OperationPath, request: Request, hold: ConnectionFinder | undefined) => {
    const caller = () => callerOf(tokenOf(request), access)
    const session = () => sessionOf(request)
    const received = asReceived(request)
    const refuse = (error: unknown) => noteRefused(request, error)
    const client = { request, received, session, caller, hold, wire: wire?.(), refused: refuse }
    return serveOperation(endpoint.operation(), client, deps)
  }
  const complete = completing(ids)
  const page = inspecting(deps, loadRoutes)
  const answer = (request: Request, hold: ConnectionFinder | undefined): Response | Promise<Response> => {
    const pathname = pathIn(request.url)
    const called = isCalled(pathname)
    const shown = called ? undefined : page(request)
    if (shown) return complete(shown, request, hold)
    if (called) admit(request, () => requireToken(request, access))
    else if (!loadRoutes().isPublic(pathname)) checkToken(request, access)
    else return complete(loadRoutes().fetch(request), request, hold)
    const turn = sessions.turn?.(sessionName(request, tokenOf(request)))
    return turn ? turn.then(() => served(request, pathname, hold)) : served(request, pathname, hold)
  }
  const served = (request: Request, pathname: string, hold: ConnectionFinder | undefined) => {
    const operation = operationAt(request, pathname)
    if (!operation) return complete(loadRoutes().fetch(request), request, hold)
    const answered = call(operation, request, hold)
    return operation.wire ? complete(answered, request, hold) : answered
  }
  return {
    async fetch(incoming, hold) {
      let request = incoming
      let origin: string | undefined
      let response: Response
      try {
        admit(incoming, () => {
          checkHost(incoming, access.host)
          checkOrigin(incoming, access.cors)
        })
        request = withoutPrefix(incoming)
        noteBalancer(request)
        origin = allowedPage(request, access.cors)
        const preflightRequested = origin !== undefined && isPreflight(request)
        response = await (preflightRequested ? complete(preflight(request), request, hold) : answer(request, hold))
      } catch (error) {
        response = await complete(render(error, request), request, hold)
      }
      responses.add(statusFor(incoming, response))
      announced(request, response)
      if (origin !== undefined) readableBy(origin, response)
      return response
    },
    async judge(name, options) {
      await sessions.turn?.(name)
      return verdicts().judge(deps.gateway.runs.enter(sessions.peek(name)), options)
    },
    refused: refused.all,
  }
}
