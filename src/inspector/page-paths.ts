// Who gets the page: browsers at /, and everybody at /_understudy/ui.

const UI = '/_understudy/ui'
/** Whether a request is for the page: programs that ask for / want no HTML. */
export function wantsPage({ method, headers, url }: Request): boolean {
  if (method !== 'GET' && method !== 'HEAD') return false
  const { pathname } = new URL(url)
  return pathname === UI || (pathname === '/' && (headers.get('accept') ?? '').includes('text/html'))
}
