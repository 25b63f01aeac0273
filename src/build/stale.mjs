// Whether the executable is older than what it is made of. Plain Node: the bootstrap asks before anything is installed.
import { readdirSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..')
/** Everything that is compiled into it. */
const SOURCES = ['src', 'docs', 'fixtures', 'scenarios', 'test/golden', 'package.json', 'package-lock.json']

/** The executable of this platform. */
export const executable = join(root, 'dist', process.platform === 'win32' ? 'understudy.exe' : 'understudy')

/** Newest modification time, in ms, of a file or of everything below a folder; 0 when there is none. */
export function newest(path) {
  const stat = statSync(path, { throwIfNoEntry: false })
  if (!stat) return 0
  if (!stat.isDirectory()) return stat.mtimeMs
  return Math.max(stat.mtimeMs, ...readdirSync(path).map((name) => newest(join(path, name))))
}

/** Whether it must be built, because it is missing or something in it has changed. */
export const isStale = () => newest(executable) < Math.max(...SOURCES.map((name) => newest(join(root, name))))
