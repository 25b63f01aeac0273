// Who gets the page: browsers at /, and everybody at /_understudy/ui; it asks for its first calls beside it.

const UI = '/_understudy/ui'
const CALLS = `${UI}/calls`

/** What of the page a request is for, if anything: programs that ask for / want no HTML. */
export function pageRequest({ method, headers, url }: Request): 'page' | 'calls' | undefined {
  if (method !== 'GET' && method !== 'HEAD') return undefined
  const { pathname } = new URL(url)
  if (pathname === CALLS) return 'calls'
  return pathname === UI || (pathname === '/' && (headers.get('accept') ?? '').includes('text/html'))
    ? 'page'
    : undefined
}
