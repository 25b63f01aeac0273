// Access rules that every path shares: who may call, and in which session.
import { ApiError } from './contract/core/error.ts'
import type { Caller } from './contract/workspace/record.ts'
import { hostName, isLoopback, isWildcard } from './lib/hosts.ts'
import { uuidOf } from './lib/ids.ts'
import { decodedPart } from './lib/values.ts'
import { quote } from './schema/validation.ts'
import { DEFAULT_SESSION } from './sessions/session.ts'

/** The settings of the rules. */
export interface AccessOptions {
  host: string | undefined
  token: readonly string[]
  /** The workspaces of tokens; other tokens use the default workspace. */
  tokens: Readonly<Record<string, { workspace: string; project?: string | undefined }>>
}

/** The host names of nearly every client, with or without a port. */
const USUAL = /^(?:localhost|127\.0\.0\.1)(?::\d+)?$/

/** Whether a `Host` header names this machine, or is empty. */
function isOurs(header: string): boolean {
  if (USUAL.test(header)) return true
  const name = hostName(header)
  return name === '' || isLoopback(name)
}

/**
 * Rejects a `Host` header that is neither loopback nor the host listened on: a page of another site whose name resolves
 * here.
 * @throws ApiError 403, or 400 without the header
 */
export function checkHost(request: Request, host: string | undefined): void {
  // HTTP/1.0 allows omitting the header; the URL is then a bare path.
  if (request.url.startsWith('/')) throw new ApiError(400, 'host_required', "send a 'Host' header")
  // A server that listens on every interface always requires a token, which a foreign page lacks. There any name may be
  // valid.
  if (host !== undefined && isWildcard(host)) return
  const header = request.headers.get('host') ?? ''
  if (isOurs(header)) return
  const name = hostName(header)
  if (name === host?.toLowerCase().replace(/^\[|\]$/g, '')) return
  throw new ApiError(
    403,
    'host_not_allowed',
    `host ${quote(name)} is not allowed; call by a loopback name${host ? ` or ${host}` : ''}`,
  )
}

const SCHEME = 'Bearer '
const WORD = /^\S+$/
/**
 * The token of a request; undefined if it has none.
 * @throws ApiError 401 for an invalid header
 */
export function tokenOf(request: Request): string | undefined {
  const header = request.headers.get('authorization')
  if (header !== null) return tokenIn(header)
  // The header of Anthropic's clients.
  const key = request.headers.get('x-api-key')
  return key === null ? undefined : tokenIn(`${SCHEME}${key}`)
}

function tokenIn(header: string): string | undefined {
  const word = header.slice(SCHEME.length)
  if (header.startsWith(SCHEME) && WORD.test(word)) return word
  const [, token, more] = /^Bearer(?:[ \t]+(\S+)[ \t]*(.*))?$/is.exec(header) ?? []
  if (token !== undefined && more === '') return token
  if (/^(?:Bearer)?\s*$/i.test(header)) return undefined
  if (token !== undefined) throw unauthorized(`the token has a space in it: send one word, as in ${EXAMPLE}`)
  throw unauthorized(`the header 'Authorization' is not a bearer token: send ${EXAMPLE}`)
}

/**
 * The token of a request, which without its session suffix must be a configured one.
 * @throws ApiError 401
 */
export function checkToken(request: Request, { token: allowed, tokens }: AccessOptions): string | undefined {
  const token = tokenOf(request)
  if (allowed.length === 0) return token
  const name = token?.replace(/#.*$/s, '')
  if (name !== undefined && (allowed.includes(name) || Object.hasOwn(tokens, name))) return token
  throw unauthorized(
    token === undefined ? `send a token: ${EXAMPLE}` : 'this token is not one of those allowed (--token)',
  )
}

/**
 * The same for an API call, which must have a token even where any is valid.
 * @throws ApiError 401
 */
export function requireToken(request: Request, access: AccessOptions): void {
  if (!checkToken(request, access))
    throw unauthorized(`send a token: ${EXAMPLE} (any token works unless --token is set)`)
}

/** Whether a request has a valid token, on paths that need none, too. */
export function hasToken(request: Request, access: AccessOptions): boolean {
  try {
    requireToken(request, access)
    return true
  } catch (error) {
    if (error instanceof ApiError) return false
    throw error
  }
}

const EXAMPLE = "'Authorization: Bearer <token>'"
// No browser shows a password dialog for it, which would block the calling page.
const CHALLENGE = 'Bearer realm="understudy"'
const unauthorized = (message: string) =>
  new ApiError(401, 'invalid_token', message, { headers: { 'www-authenticate': CHALLENGE } })

/** Workspace of every token that is not mapped to another. */
const DEFAULT_WORKSPACE = 'default'
/** The caller in a workspace, by token. Ids are functions of the names, so they are the same everywhere. */
export function callerOf(token: string | undefined, { tokens }: Pick<AccessOptions, 'tokens'>): Caller {
  const name = token?.replace(/#.*$/s, '') ?? ''
  const rule = Object.hasOwn(tokens, name) ? tokens[name] : undefined
  return {
    workspace: uuidOf(`workspace:${rule?.workspace ?? DEFAULT_WORKSPACE}`),
    user: uuidOf(`user:${rule ? name : DEFAULT_WORKSPACE}`),
    project: rule?.project,
  }
}

/** The session name of a request: header, then token, else the default session. */
export const sessionName = (request: Request, token: string | undefined): string =>
  request.headers.get('x-understudy-session') ?? sessionIn(token ?? '') ?? DEFAULT_SESSION

/** The same before the token is checked: undefined if it is invalid, which the application rejects. */
export function namedSession(request: Request): string | undefined {
  try {
    return sessionName(request, tokenOf(request))
  } catch (error) {
    if (error instanceof ApiError) return undefined
    throw error
  }
}

const sessionIn = (token: string): string | undefined =>
  /^session:(.*)$/.exec(token)?.[1] ?? /#(?:session:)?(.*)$/.exec(token)?.[1]

/**
 * Rejects a session other than the one in the URL, the header or the token of the request, if required.
 * @throws ApiError 400
 */
export function checkSeen(name: string, seen: string, strict: boolean): void {
  if (!strict || name === seen) return
  throw new ApiError(
    400,
    'session_not_visible',
    `session ${quote(name)} is named where a balancer does not see it, so this may be the wrong instance (--instance-strict): name it in the address (/_understudy/sessions/${name}, /s/${name}/...), in 'x-understudy-session' or in the token; those say ${quote(seen)}`,
    { param: 'session' },
  )
}

const PREFIX = /^\/s\/([^/]+)(?=\/)/
/** Paths of a client whose base URL lacks `/v1`. */
const WITHOUT_VERSION = /^\/messages(?=\/|$)/
/**
 * The request without a leading `/s/<session>`, whose session becomes the header; `/messages` is `/v1/messages`. Only
 * the first prefix counts: a request that this has returned before stays as it is.
 */
export function withoutPrefix(request: Request): Request {
  if (asCame.has(request)) return request
  const pathStart = request.url.indexOf('/', 8)
  if (!request.url.startsWith('/s/', pathStart) && !request.url.startsWith('/messages', pathStart)) return request
  // Without a `Host` header the URL is a bare path, which is rejected (`checkHost`).
  const url = URL.parse(request.url)
  if (!url) return request
  // A slash in it is written as `%2F`. An invalid escape is rejected as a name.
  const written = PREFIX.exec(url.pathname)?.[1]
  const name = written && (decodedPart(written) ?? written)
  const path = url.pathname.replace(PREFIX, '').replace(WITHOUT_VERSION, '/v1$&')
  if (path === url.pathname) return request
  url.pathname = path
  const headers = new Headers(request.headers)
  if (name) headers.set('x-understudy-session', name)
  const rewritten = new Request(url, { method: request.method, headers, body: request.body, signal: request.signal })
  asCame.set(rewritten, { url: request.url, headers: request.headers })
  return rewritten
}

const asCame = new WeakMap<Request, Pick<Request, 'url' | 'headers'>>()
/** The URL and the headers of a request as received, before `withoutPrefix`. */
export const asReceived = (request: Request): Pick<Request, 'url' | 'headers'> => asCame.get(request) ?? request
