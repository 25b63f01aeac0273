// What web pages may do: a browser sends the calls of any page here, so what changes something looks at where it comes from.
import { ApiError } from '../contract/core/error.ts'
import { quote } from '../schema/validation.ts'

const CHANGES_NOTHING = new Set(['GET', 'HEAD', 'OPTIONS'])

/** The control API, in a session of its own too: reading it may begin a session, wait, or judge. */
const CONTROL = /^(?:\/s\/[^/]*)*\/_understudy(?:\/|$)/

/**
 * 403 when the page of another origin, which `cors` does not name, would change something or reads the control API; programs send no
 * origin.
 */
export function checkOrigin({ method, headers, url }: Request, cors: readonly string[]): void {
  const origin = headers.get('origin')
  const site = headers.get('sec-fetch-site')
  if (origin === null && site === null) return
  // A browser asks whether a page may call before it sends what only `cors` allows.
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

/** The origin of the page that calls, when it is one of those that may; most servers let none. */
export function allowedPage({ headers }: Request, cors: readonly string[]): string | undefined {
  const origin = cors.length > 0 ? headers.get('origin') : null
  return origin !== null && allowsOrigin(cors, origin) ? origin : undefined
}

/** Whether the pages of an origin may call. */
const allowsOrigin = (cors: readonly string[], origin: string): boolean => cors.includes(origin) || cors.includes('*')

// A page cannot forge either header. Names that point here by a trick are refused before, by their `Host`.
function isOurs(origin: string | null, site: string | null, host: string | null): boolean {
  if (site === 'same-origin') return true
  if (site !== null && site !== 'none') return false
  if (origin === null) return true
  const url = URL.parse(origin)
  return url !== null && url.origin === origin && url.host === host?.toLowerCase()
}
