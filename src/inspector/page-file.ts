// The page as a file: embedded when the executable is built, made on first use from source.
import { gunzipSync, gzipSync } from 'node:zlib'
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

const asFile = (compressed: Uint8Array<ArrayBuffer>): PageFile => {
  const text = once(() => gunzipSync(compressed).toString())
  return { compressed, policy: POLICY.exec(text())?.[1] ?? "default-src 'none'", text }
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
