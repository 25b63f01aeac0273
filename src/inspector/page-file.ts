// The page: embedded when the executable is built, built on first use from source; over HTTP, and as a file.
import { constants, gunzipSync, gzipSync } from 'node:zlib'
import { isCompiled, readAsset } from '../lib/assets.ts'
import { gzipResponse } from '../lib/gzip-response.ts'
import { lazy } from '../lib/lazy.ts'
import { once } from '../lib/once.ts'
import type { Sessions } from '../sessions/sessions.ts'
import { callsPage } from '../views/calls-page.ts'
import { DATA_MARK } from './report-data.ts'

// The bundler is only needed when run from source.
const bundler = lazy<typeof import('./bundle.ts')>(() => require('./bundle.ts'))

/** The compressed page of the build. */
export const PAGE_FILE = 'dist/inspector.html.gz'

/** The page, compressed. */
export const compressPage = (text: string): Uint8Array<ArrayBuffer> => new Uint8Array(gzipSync(text, { level: 9 }))

const POLICY = /http-equiv="Content-Security-Policy" content="([^"]*)"/

/** Compressed bytes that contain at least the head of the page. */
const HEAD_BYTES = 4_096

/** The page, always the same: compressed as it is sent, its own policy for the response header, and itself. */
const pageFile = once(async () => {
  const compressed = isCompiled ? new Uint8Array(readAsset(PAGE_FILE)) : compressPage(await bundler().bundlePage())
  // Most browsers accept it compressed, so only the head with the policy is unpacked.
  const head = gunzipSync(compressed.subarray(0, HEAD_BYTES), { finishFlush: constants.Z_SYNC_FLUSH }).toString()
  const text = once(() => gunzipSync(compressed).toString())
  return { compressed, policy: POLICY.exec(head)?.[1] ?? "default-src 'none'", text }
})

/** The page with embedded data, which it shows without a server. */
export async function reportPage(data: unknown): Promise<string> {
  const { text } = await pageFile()
  // No text of a trace can close the script element.
  const json = JSON.stringify(data).replaceAll('<', '\\u003c')
  return text().replace(DATA_MARK, () => `<script type="application/json" id="data">${json}</script>`)
}

const FIRST_CALLS = 100

/** The calls that the page starts with: a page of `GET /_understudy/calls`, before the control API is loaded. */
export const firstCalls = (sessions: Sessions): Response =>
  Response.json(sessions.overAll((list) => callsPage(list, { limit: FIRST_CALLS })))

/** The page, compressed if the client accepts that. */
export async function pageResponse(request: Request): Promise<Response> {
  const { compressed, policy } = await pageFile()
  const bytes = () => new Uint8Array(gunzipSync(compressed))
  return gzipResponse(
    request,
    { compressed, bytes },
    {
      headers: {
        'content-type': 'text/html; charset=utf-8',
        'content-security-policy': `${policy}; frame-ancestors 'none'`,
        vary: 'accept, accept-encoding',
      },
    },
  )
}
