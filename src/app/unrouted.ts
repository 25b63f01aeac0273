// Requests without a route: OPTIONS of a path, a wrong method, or an unknown path.
import { sessionName, tokenOf } from '../access.ts'
import { compatApiOf, compatPaths, notEmulated } from '../compat/index.ts'
import { apiOfPath, EMULATED_APIS } from '../compat/not-emulated.ts'
import { ApiError } from '../contract/core/error.ts'
import { withoutSecrets } from '../lib/secrets.ts'
import type { Session } from '../sessions/sessions.ts'
import { MAX_PATH_LENGTH, traceUnknownPath, type UnknownPathLog } from './unknown-paths.ts'

/** A known path, parameters as `:name`, and one of its methods. */
interface KnownPath {
  path: string
  method: string
}

/** The context of an unrouted request. */
interface UnroutedContext {
  paths(): readonly KnownPath[]
  unknownPaths: UnknownPathLog
  sessionOf(request: Request): Session
}

/** `/a/:id` as a pattern for whole paths. */
export const pathRegex = (path: string) =>
  new RegExp(
    `^${path
      .split(/:[^/]+/)
      .map(RegExp.escape)
      .join('[^/]+')}$`,
  )

/**
 * Responds to OPTIONS.
 * @throws ApiError 405 for a wrong method, and 404 for an unknown path
 */
export function answerUnrouted(request: Request, context: UnroutedContext): Response {
  const { method } = request
  const { pathname } = new URL(request.url)
  const methods = context
    .paths()
    .filter(({ path }) => pathRegex(path).test(pathname))
    .map((route) => route.method)
  // A path of another API may look like one of ours: that of a model, with what is to be done with it.
  if (methods.length === 0 || (method === 'POST' && apiOfPath(pathname))) throw unknownPath(request, pathname, context)
  // The router handles HEAD wherever it handles GET.
  const allowed = [...new Set(methods.flatMap((one) => (one === 'GET' ? ['GET', 'HEAD'] : [one])))]
  const headers = { allow: [...allowed, 'OPTIONS'].join(', ') }
  if (method === 'OPTIONS') return new Response(null, { status: 204, headers })
  const message = `${pathname} takes ${allowed.join(', ')}, not ${method}`
  throw new ApiError(405, 'method_not_allowed', message, { headers })
}

function unknownPath(request: Request, called: string, { unknownPaths, sessionOf, paths }: UnroutedContext): ApiError {
  const { method } = request
  // Addresses of some services contain a key.
  const path = withoutSecrets(called)
  const api = compatApiOf(request)
  // A call of /v1/files, which is not emulated, was not meant for another API.
  const known = () => (api ? compatPaths(api) : paths().map((one) => one.path))
  const { likely, first } = unknownPaths.note({ session: sessionName(request, tokenOf(request)), method, path }, known)
  const other = notOfWorkspace(path, paths()) ?? HINT
  const hint = likely === null ? other : `: did you mean ${likely}? ${advice(likely)}`
  const foreign = apiOfPath(path)
  const message = foreign
    ? `${cut(path)} looks like a path of ${foreign.name}, which is not emulated; what is: ${EMULATED_APIS}`
    : api
      ? notEmulated(api, cut(path))
      : `there is no path ${cut(path)}${hint}`
  const error = new ApiError(404, 'unknown_path', message, { asText: AS_TEXT.test(path) })
  // A read-only request, such as a browser's for an icon, leaves no trace.
  if (first && method !== 'GET' && method !== 'HEAD') traceUnknownPath(sessionOf(request), { method, path, error })
  return error
}

/** Paths whose clients expect a text as `error`, although they do not exist here. */
const AS_TEXT = /^\/v2\/identities(\/|$)/
/** A longer segment names nothing of any API. */
const MAX_FAMILY_LENGTH = 40
const FAMILY = /^\/v2\/([^/]+)/
const familyOf = (path: string): string => FAMILY.exec(path)?.[1] ?? ''

/** The message for an API path without a similar one here: what is not emulated, and what is. */
function notOfWorkspace(path: string, paths: readonly KnownPath[]): string | undefined {
  const family = familyOf(path)
  if (family === '' || family.length > MAX_FAMILY_LENGTH) return undefined
  const families = [...new Set(paths.map((one) => familyOf(one.path)))].filter((one) => one !== '').sort()
  if (!families.includes(family))
    return `: ${family} is not emulated. Under /v2 there are ${families.join(', ')}; all paths are at /swagger`
  const there = [...new Set(paths.map((one) => one.path))].filter((one) => familyOf(one) === family)
  return `: of ${family} this is not emulated. There are ${there.toSorted().join(', ')}`
}

/** What to say besides about a likely path: that of an operation comes from the base URL of a client. */
function advice(likely: string): string {
  const base = ['/v2/router', '/v1'].find((path) => likely.startsWith(`${path}/`))
  return base ? `The base URL of a client ends with ${base}; all paths are at /swagger` : 'All paths are at /swagger'
}

const HINT = '; all of them are at /swagger'

/** A path as an error names it. */
const cut = (path: string) => (path.length > MAX_PATH_LENGTH ? `${path.slice(0, MAX_PATH_LENGTH)}...` : path)
