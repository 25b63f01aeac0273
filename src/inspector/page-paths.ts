// Paths of the page: browsers get it at /, everyone at /_understudy/ui; its first calls are next to it.

const UI = '/_understudy/ui'
const CALLS = `${UI}/calls`

/** The part of the page that a request is for, if any. Programs that request / expect no HTML. */
export function pageRequest({ method, headers, url }: Request): 'page' | 'calls' | undefined {
  if (method !== 'GET' && method !== 'HEAD') return undefined
  const { pathname } = new URL(url)
  if (pathname === CALLS) return 'calls'
  return pathname === UI || (pathname === '/' && (headers.get('accept') ?? '').includes('text/html'))
    ? 'page'
    : undefined
}
