// Whether the executable is older than what it is made of. Plain Node: the bootstrap asks before anything is installed.
import { readdirSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..')
/** Everything that is compiled into it, but for the documentation site. */
const SOURCES = ['src', 'fixtures', 'scenarios', 'test/golden', 'package.json', 'package-lock.json']
/** The documentation site, and its pages. */
const [SITE, PAGES] = ['dist/site.bin', 'docs']

/** The executable of this platform. */
export const executable = join(root, 'dist', process.platform === 'win32' ? 'understudy.exe' : 'understudy')

/** Newest modification time, in ms, of a file or of everything below a folder; 0 when there is none. */
export function newest(path) {
  const stat = statSync(path, { throwIfNoEntry: false })
  if (!stat) return 0
  if (!stat.isDirectory()) return stat.mtimeMs
  return Math.max(stat.mtimeMs, ...readdirSync(path).map((name) => newest(join(path, name))))
}

/**
 * Whether it must be built, because it is missing or something in it has changed.
 * @param withSite false where the documentation site in it does not matter
 */
export function isStale({ withSite = true } = {}) {
  const built = newest(executable)
  const at = (name) => newest(join(root, name))
  if (built < Math.max(...SOURCES.map(at))) return true
  // An executable that was built without the site is older than the site, or there is no site yet.
  return withSite && (built < at(SITE) || at(SITE) < at(PAGES))
}
