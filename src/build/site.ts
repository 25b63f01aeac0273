// Builds the documentation site from `docs/`. That takes seconds, so it is done again only when something that it is made of has changed.
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { Glob } from 'bun'
import { packSite, readSite, SITE_FILE } from '../docs/site-file.ts'

const root = join(import.meta.dir, '..', '..')
const output = join(root, 'dist', 'docs')
/** The list of packages in the site, which is served with it. */
const PACKAGES = 'packages.json'

/** What makes VitePress take a third less processor time: it ends before optimized code pays, or memory must be collected and returned. */
const CHEAP = { BUN_JSC_useFTLJIT: '0', BUN_GC_TIMER_DISABLE: '1', MIMALLOC_PURGE_DELAY: '-1' }

/** The files that the site is made of, by path from the project's root. */
const sources = () =>
  [
    ...new Glob('docs/**/*').scanSync({ cwd: root, dot: true }),
    'src/build/site.ts',
    'src/docs/site-file.ts',
    'node_modules/vitepress/package.json',
  ]
    .map((path) => path.replaceAll('\\', '/'))
    .filter((path) => !path.startsWith('docs/.vitepress/.temp/'))
    .sort()

/** A fingerprint of them. */
function fingerprint(): string {
  const hash = new Bun.CryptoHasher('sha256')
  for (const path of sources())
    hash
      .update(`${path}\n`)
      .update(readFileSync(join(root, path)))
      .update('\n')
  return hash.digest('hex')
}

/** The site under `dist/` as one file; undefined when it is missing or not current. */
export function currentSite(): Uint8Array | undefined {
  const path = join(root, SITE_FILE)
  if (!existsSync(path)) return undefined
  const packed = readFileSync(path)
  return readSite(packed).source === fingerprint() ? packed : undefined
}

/** The site as one file: the one under `dist/` when it is current. */
export async function siteFile(): Promise<Uint8Array> {
  const current = currentSite()
  if (current) return current
  const source = fingerprint()
  await generateSite(output)
  const names = [...new Glob('**/*').scanSync(output)].map((name) => name.replaceAll('\\', '/')).sort()
  const files = new Map(names.map((name) => [name, new Uint8Array(readFileSync(join(output, name)))]))
  files.delete('hashmap.json')
  const packed = packSite({ source, policy: policyOf(files) }, files)
  await Bun.write(join(root, SITE_FILE), packed)
  return packed
}

/** Folders of the packages whose code is in a site, from the root. Its build lists them (docs/.vitepress/config.ts). */
export function sitePackages(site: Uint8Array): string[] {
  const listed = readSite(site).find(PACKAGES)
  if (!listed) throw new Error(`the site has no ${PACKAGES}`)
  return JSON.parse(new TextDecoder().decode(listed.bytes()))
}

/**
 * Runs VitePress, which fails on a link that leads nowhere.
 *
 * @param folder where the site goes, instead of what is there
 * @param base the path that the site is served at; default: the one of the executable
 */
export async function generateSite(folder: string, base?: string): Promise<void> {
  rmSync(folder, { recursive: true, force: true })
  const vitepress = join(root, 'node_modules', 'vitepress', 'bin', 'vitepress.js')
  const options = ['--outDir', folder, ...(base === undefined ? [] : ['--base', base])]
  const child = Bun.spawn([process.execPath, vitepress, 'build', 'docs', ...options], {
    cwd: root,
    env: { ...process.env, ...CHEAP },
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const [printed, errors, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ])
  // Under Bun it ends with 0 even when a page could not be rendered.
  if (code !== 0 || !existsSync(join(folder, 'index.html')) || /error/i.test(errors))
    throw new Error(`the documentation could not be built:\n${printed}${errors}`)
}

/** A policy under which nothing runs or loads but what the site itself contains. */
function policyOf(files: ReadonlyMap<string, Uint8Array>): string {
  const pages = [...files]
    .filter(([name]) => name.endsWith('.html'))
    .map(([, bytes]) => new TextDecoder().decode(bytes))
  const scripts = pages.flatMap((page) =>
    [...page.matchAll(/<script(?![^>]*\bsrc=)[^>]*>([\s\S]*?)<\/script>/g)].map(([, code = '']) => code),
  )
  const hashes = [...new Set(scripts)].map(
    (code) => `'sha256-${new Bun.CryptoHasher('sha256').update(code).digest('base64')}'`,
  )
  return [
    "default-src 'none'",
    `script-src 'self' ${hashes.sort().join(' ')}`,
    // Colors of code are in attributes.
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data:",
    "connect-src 'self'",
    "form-action 'none'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; ')
}
