// The documentation site as one file: its pages and assets, each compressed, after a table of contents.
import { gunzipSync, gzipSync } from 'node:zlib'

/** The site file of the build. */
export const SITE_FILE = 'dist/site.bin'

/** The table before the files. */
interface SiteTable {
  /** A fingerprint of the site's sources. */
  source: string
  /** The content security policy of the pages. */
  policy: string
  /**
   * Files by their path below `/docs/`, such as `fixtures.html`: the position of their compressed bytes after the table,
   * and their media type.
   */
  files: Record<string, { offset: number; length: number; type: string }>
}

/** The site, read from its file. */
export type Site = ReturnType<typeof readSite>

const TYPES: Record<string, string> = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  json: 'application/json',
  png: 'image/png',
  svg: 'image/svg+xml',
}
const typeOf = (path: string) => TYPES[path.split('.').at(-1) ?? ''] ?? 'application/octet-stream'

/** Bytes that contain the length of the table. */
const HEAD = 4

/**
 * Packs files into one.
 * @param files contents by path below `/docs/`
 */
export function packSite(
  about: Pick<SiteTable, 'source' | 'policy'>,
  files: ReadonlyMap<string, Uint8Array>,
): Uint8Array<ArrayBuffer> {
  const parts = [...files].map(([path, content]) => ({ path, bytes: gzipSync(content, { level: 9 }) }))
  let offset = 0
  const entries = parts.map(({ path, bytes }) => {
    const entry = { offset, length: bytes.length, type: typeOf(path) }
    offset += bytes.length
    return [path, entry] as const
  })
  const table: SiteTable = { ...about, files: Object.fromEntries(entries) }
  const text = new TextEncoder().encode(JSON.stringify(table))
  const head = new Uint8Array(HEAD)
  new DataView(head.buffer).setUint32(0, text.length)
  return new Uint8Array(Buffer.concat([head, text, ...parts.map(({ bytes }) => bytes)]))
}

/** Reads the output of `packSite`. */
export function readSite(packed: Uint8Array) {
  const length = new DataView(packed.buffer, packed.byteOffset).getUint32(0)
  const start = HEAD + length
  const { source, policy, files }: SiteTable = JSON.parse(new TextDecoder().decode(packed.subarray(HEAD, start)))
  return {
    source,
    policy,
    paths: Object.keys(files),
    /** A file by its path below `/docs/`, compressed and itself; undefined if the site has no such file. */
    find(path: string) {
      const entry = Object.hasOwn(files, path) ? files[path] : undefined
      if (!entry) return undefined
      const compressed = new Uint8Array(packed.subarray(start + entry.offset, start + entry.offset + entry.length))
      return { compressed, type: entry.type, bytes: () => new Uint8Array(gunzipSync(compressed)) }
    },
  }
}
