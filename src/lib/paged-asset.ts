// Large shipped files of which little is used: read from the executable page by page, into memory that the system
// allocates only where it is touched. Read as a whole, such a file would be in memory twice: with the executable, and
// as a copy.
import { closeSync, openSync, readSync } from 'node:fs'
import { isCompiled, readAsset } from './assets.ts'
import { once } from './once.ts'

/** Positions of shipped files in the executable, by their path from the project's root: offset and length. */
type AssetPlaces = Record<string, [offset: number, length: number]>

/** The file with the positions, which the build adds to the executable afterwards (build/asset-places.ts). */
export const PLACES_FILE = 'dist/asset-places.json'
/** The running executable, even if its file was replaced since. */
const EXECUTABLE = '/proc/self/exe'
const PAGE_BITS = 12

/** A file whose bytes are valid in the ranges that were requested. */
export interface PagedAsset {
  bytes: Uint8Array
  /** Makes the bytes from `start` to before `end` valid. */
  need(start: number, end: number): void
}

/** The positions of files; empty when run from source, or if the build could not determine them. */
const placesOf = once(
  (): AssetPlaces => (isCompiled ? (JSON.parse(new TextDecoder().decode(readAsset(PLACES_FILE))) as AssetPlaces) : {}),
)

/** A shipped file, read as needed, or at once where that is not possible. */
export function pagedAsset(path: string): PagedAsset {
  const place = placesOf()[path]
  const paged = place && pagedFile(EXECUTABLE, ...place)
  return paged ?? { bytes: readAsset(path), need() {} }
}

/** Part of a file, read as needed; undefined if the file cannot be read. */
export function pagedFile(file: string, offset: number, length: number): PagedAsset | undefined {
  const bytes = new Uint8Array(length)
  const present = new Uint8Array((length >> PAGE_BITS) + 1)
  // Opened for each page: a worker that ends does not close its files.
  const read = (page: number) => {
    const start = page << PAGE_BITS
    const size = Math.min(1 << PAGE_BITS, length - start)
    const opened = openSync(file, 'r')
    try {
      if (readSync(opened, bytes, start, size, offset + start) < size) throw new Error(`${file} is cut short`)
    } finally {
      closeSync(opened)
    }
    present[page] = 1
  }
  try {
    read(0)
  } catch {
    return undefined
  }
  return {
    bytes,
    need(start, end) {
      const last = (end - 1) >> PAGE_BITS
      for (let page = start >> PAGE_BITS; page <= last; page++) if (present[page] === 0) read(page)
    },
  }
}
