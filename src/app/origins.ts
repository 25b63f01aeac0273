// Access of web pages: a browser sends the calls of any page, so calls that change something must come from an allowed
// origin.
import { ApiError } from '../contract/core/error.ts'
import { quote } from '../schema/validation.ts'

const CHANGES_NOTHING = new Set(['GET', 'HEAD', 'OPTIONS'])

/** The control API, also below a session prefix: reading it may create a session, wait, or judge. */
const CONTROL = /^(?:\/s\/[^/]*)*\/_understudy(?:\/|$)/

/**
 * Rejects changes and control API reads by a page of another origin, unless `cors` names it; programs send no origin.
 * @throws ApiError 403
 */
export function checkOrigin({ method, headers, url }: Request, cors: readonly string[]): void {
  const origin = headers.get('origin')
  const site = headers.get('sec-fetch-site')
  if (origin === null && site === null) return
  // A browser sends a preflight before a call that only `cors` allows.
  const isControl = method !== 'OPTIONS' && CONTROL.test(URL.parse(url)?.pathname ?? '')
  if (CHANGES_NOTHING.has(method) && !isControl) return
  if (isOurs(origin, site, headers.get('host')) || (origin !== null && allowsOrigin(cors, origin))) return
  const page = origin === null || origin === 'null' ? 'another origin' : quote(origin)
  throw new ApiError(
    403,
    'origin_not_allowed',
    `a page of ${page} may ${isControl ? 'neither read nor change the control API' : 'change nothing here'}: only pages of this server may, and those of the origins that --cors names`,
  )
}

/** The origin of the calling page, if it is allowed; most servers allow none. */
export function allowedPage({ headers }: Request, cors: readonly string[]): string | undefined {
  const origin = cors.length > 0 ? headers.get('origin') : null
  return origin !== null && allowsOrigin(cors, origin) ? origin : undefined
}

/** Whether the pages of an origin are allowed. */
const allowsOrigin = (cors: readonly string[], origin: string): boolean => cors.includes(origin) || cors.includes('*')

// A page cannot forge either header. Host names that resolve here by DNS rebinding are rejected before, by their
// `Host`.
function isOurs(origin: string | null, site: string | null, host: string | null): boolean {
  if (site === 'same-origin') return true
  if (site !== null && site !== 'none') return false
  if (origin === null) return true
  const url = URL.parse(origin)
  return url !== null && url.origin === origin && url.host === host?.toLowerCase()
}
