// The page over HTTP.
import { gunzipSync } from 'node:zlib'
import type { Sessions } from '../sessions/sessions.ts'
import { callsPage } from '../views/calls-page.ts'
import { pageFile } from './page-file.ts'

const FIRST_CALLS = 100

/** The calls that the page starts with: a page of `GET /_understudy/calls`, before the control API is loaded. */
export const firstCalls = (sessions: Sessions): Response =>
  Response.json(sessions.overAll((list) => callsPage(list, { limit: FIRST_CALLS })))

/** The page, compressed if the client accepts that. */
export async function pageResponse({ headers }: Request): Promise<Response> {
  const { compressed, policy } = await pageFile()
  const small = /\bgzip\b/.test(headers.get('accept-encoding') ?? '')
  return new Response(small ? compressed : gunzipSync(compressed), {
    headers: {
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': `${policy}; frame-ancestors 'none'`,
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      // Another version of the program may use the same address next.
      'cache-control': 'no-cache',
      vary: 'accept, accept-encoding',
      ...(small && { 'content-encoding': 'gzip' }),
    },
  })
}
