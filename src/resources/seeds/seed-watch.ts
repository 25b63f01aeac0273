// Seed files of the user while the program runs: a new session is filled by them as they are then.
import { existsSync } from 'node:fs'
import { fileVersion } from '../../lib/file-version.ts'
import { lazy } from '../../lib/lazy.ts'
import { FileError, problemsIn } from '../../schema/source.ts'
import type { SeedFile } from './seed-file.ts'

// The formats of a whole workspace are only needed where there is such a file.
const reader = lazy<typeof import('./seed-file.ts')>(() => require('./seed-file.ts'))

/** Which files fill new sessions. */
interface SeedPaths {
  /** Those that are named; none of them is left out. */
  named: readonly string[]
  /** Those that take the place of the shipped example when they are there, unless others are named. */
  maybe: readonly string[]
}

/** As a name: nothing fills new sessions. */
const NOTHING = 'none'

/**
 * The seeds in force, the same list until one of their files, or a document that they name, has changed. A mistake in one
 * leaves all as they were.
 * @param report hears of each edit that cannot be used
 * @throws FileError when they cannot be used at the start.
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
    // The shipped example never changes, and is read when somebody needs it.
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
