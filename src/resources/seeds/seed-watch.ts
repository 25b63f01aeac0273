// Watches the user's seed files: a new session is seeded with their current content.
import { existsSync } from 'node:fs'
import { fileVersion } from '../../lib/file-version.ts'
import { lazy } from '../../lib/lazy.ts'
import { FileError, problemsIn } from '../../schema/source.ts'
import type { SeedFile } from './seed-file.ts'

// The formats of a whole workspace are only needed if there is such a file.
const reader = lazy<typeof import('./seed-file.ts')>(() => require('./seed-file.ts'))

/** The files that seed new sessions. */
interface SeedPaths {
  /** The named files, all of which must exist. */
  named: readonly string[]
  /** The default files, which replace the shipped example if they exist, unless others are named. */
  maybe: readonly string[]
}

/** The name for no seed at all. */
const NOTHING = 'none'

/**
 * The current seeds: the same list until one of their files or documents changes. A mistake in one leaves all of them
 * unchanged.
 * @param report called for each change that cannot be used
 * @throws FileError if they cannot be used at the start
 */
export function watchSeeds(
  { named, maybe }: SeedPaths,
  report: (problem: FileError) => void,
): () => readonly SeedFile[] {
  const files = () =>
    named.length > 0 ? named.filter((path) => path !== NOTHING) : maybe.filter((path) => existsSync(path))
  const known = new Map<string, string>()
  const read = (paths: readonly string[]): readonly SeedFile[] | undefined => {
    known.clear()
    const onFile = (path: string) => void known.set(path, fileVersion(path))
    // The shipped example never changes, and is read on first use.
    return named.length === 0 && paths.length === 0 ? undefined : paths.map((path) => reader().readSeed(path, onFile))
  }
  let paths = files()
  let seeds = read(paths)
  const look = () => {
    const found = files()
    const changed = found.join('\n') !== paths.join('\n') || [...known].some(([path, was]) => fileVersion(path) !== was)
    if (!changed) return
    paths = found
    try {
      seeds = read(found)
    } catch (error) {
      report(new FileError([...problemsIn(error), 'reload of seed files failed: the previous versions stay active']))
    }
  }
  let example: readonly SeedFile[] | undefined
  return () => {
    look()
    if (seeds) return seeds
    example ??= [reader().shippedSeed()]
    return example
  }
}
