// The page as a file: embedded when the executable is built, made on first use from source.
import { constants, gunzipSync, gzipSync } from 'node:zlib'
import { isCompiled, readAsset } from '../lib/assets.ts'
import { lazy } from '../lib/lazy.ts'
import { once } from '../lib/once.ts'
import { DATA_MARK } from './data-mark.ts'

// The bundler is asked for from source alone.
const bundler = lazy<typeof import('./bundle.ts')>(() => require('./bundle.ts'))

/** Where the build puts the page, compressed. */
export const PAGE_FILE = 'dist/inspector.html.gz'

/** The page as it is sent: compressed. */
export interface PageFile {
  compressed: Uint8Array<ArrayBuffer>
  /** The page's own policy, for the header that says the same. */
  policy: string
  /** The page itself. */
  text(): string
}

/** The page, compressed. */
export const compressPage = (text: string): Uint8Array<ArrayBuffer> => new Uint8Array(gzipSync(text, { level: 9 }))

const POLICY = /http-equiv="Content-Security-Policy" content="([^"]*)"/

/** Compressed bytes that hold the head of the page at least. */
const HEAD_BYTES = 4_096

const asFile = (compressed: Uint8Array<ArrayBuffer>): PageFile => {
  // Most browsers take it as it is: no more is unpacked for them than says the policy.
  const head = gunzipSync(compressed.subarray(0, HEAD_BYTES), { finishFlush: constants.Z_SYNC_FLUSH }).toString()
  const text = once(() => gunzipSync(compressed).toString())
  return { compressed, policy: POLICY.exec(head)?.[1] ?? "default-src 'none'", text }
}

/** The page; the same file every time. */
export const pageFile: () => Promise<PageFile> = once(async () =>
  asFile(isCompiled ? new Uint8Array(readAsset(PAGE_FILE)) : compressPage(await bundler().bundlePage())),
)

/** The page with data inside, which it shows without a server. */
export async function reportPage(data: unknown): Promise<string> {
  const { text } = await pageFile()
  // No text of a trace can end the element that it stands in.
  const json = JSON.stringify(data).replaceAll('<', '\\u003c')
  return text().replace(DATA_MARK, () => `<script type="application/json" id="data">${json}</script>`)
}
