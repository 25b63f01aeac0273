// The page over HTTP.
import { gunzipSync } from 'node:zlib'
import { pageFile } from './page-file.ts'

/** The page, compressed for those who take that. */
export async function pageResponse({ headers }: Request): Promise<Response> {
  const { compressed, policy } = await pageFile()
  const small = /\bgzip\b/.test(headers.get('accept-encoding') ?? '')
  return new Response(small ? compressed : gunzipSync(compressed), {
    headers: {
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': `${policy}; frame-ancestors 'none'`,
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      // Another version of the program may answer at the same address next.
      'cache-control': 'no-cache',
      vary: 'accept, accept-encoding',
      ...(small && { 'content-encoding': 'gzip' }),
    },
  })
}
