// The documentation site at /docs, every byte of it from the executable.
import { ApiError } from '../contract/core/error.ts'
import { readAsset } from '../lib/assets.ts'
import { gzipResponse } from '../lib/gzip-response.ts'
import { lazy } from '../lib/lazy.ts'
import { once } from '../lib/once.ts'
import type { Site } from './site-file.ts'

const file = lazy<typeof import('./site-file.ts')>(() => require('./site-file.ts'))

/** The path of the site. */
export const SITE = '/docs'
/** The paths that it takes. */
export const SITE_PATHS: readonly string[] = [SITE, `${SITE}/*`]
/** Paths of the site: it contains no secrets, and a browser has no token to send. */
export const isSitePath = (pathname: string): boolean => pathname === SITE || pathname.startsWith(`${SITE}/`)

/** Names of these files contain a fingerprint of their content. */
const FINGERPRINTED = 'assets/'

// Read when somebody first opens it: a start needs none of it.
const shipped = once((): Site => {
  try {
    const { readSite, SITE_FILE } = file()
    return readSite(readAsset(SITE_FILE))
  } catch {
    throw new ApiError(404, 'docs_not_built', 'the documentation is not built: run npm run docs')
  }
})

/**
 * Mounts the site.
 * @param receivedUrl the URL of a request as the client sent it, with a session's prefix
 */
export function siteHandlers(
  receivedUrl: (request: Request) => string,
  site: () => Site = shipped,
): ReadonlyMap<string, (context: { request: Request }) => Response> {
  const serve = ({ request }: { request: Request }) => answer(request, receivedUrl(request), site)
  return new Map(SITE_PATHS.map((path) => [path, serve]))
}

function answer(request: Request, received: string, site: () => Site): Response {
  const { pathname } = new URL(request.url)
  // The pages have one URL, independent of the session.
  if (pathname === SITE || new URL(received).pathname !== pathname)
    return redirect(pathname === SITE ? `${SITE}/` : pathname)
  const { find, policy } = site()
  const path = pathname.slice(SITE.length + 1)
  const found = find(path === '' ? 'index.html' : path) ?? find(`${path}.html`)
  const file = found ?? find('404.html')
  if (!file) throw new ApiError(404, 'unknown_path', `there is no page ${pathname}`)
  return gzipResponse(request, file, {
    status: found ? 200 : 404,
    headers: {
      'content-type': file.type,
      'content-security-policy': policy,
      ...(path.startsWith(FINGERPRINTED) && { 'cache-control': 'public, max-age=31536000, immutable' }),
    },
  })
}

const redirect = (location: string) => new Response(null, { status: 307, headers: { location } })
