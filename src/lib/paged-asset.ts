// Large shipped files of which little is used: read from the executable page by page, into memory that the system gives
// only where it is touched. Read whole, such a file is in memory twice: with the executable, and as a copy.
import { closeSync, openSync, readSync } from 'node:fs'
import { isCompiled, readAsset } from './assets.ts'

/** Where shipped files lie in the executable, by their path from the project's root: offset and length. */
type AssetPlaces = Record<string, [offset: number, length: number]>

/** Says so; the build writes it into the executable once that is there (build/asset-places.ts). */
export const PLACES_FILE = 'dist/asset-places.json'
/** What is running, even when another file has been put in its place since. */
const EXECUTABLE = '/proc/self/exe'
const PAGE_BITS = 12

/** A file whose bytes are valid where they were asked for. */
export interface PagedAsset {
  bytes: Uint8Array
  /** Makes the bytes from `start` to before `end` valid. */
  need(start: number, end: number): void
}

let places: AssetPlaces | undefined

/** Where files lie; nothing from source, and where the build could not say. */
const placesOf = (): AssetPlaces =>
  (places ??= isCompiled ? (JSON.parse(new TextDecoder().decode(readAsset(PLACES_FILE))) as AssetPlaces) : {})

/** A shipped file, read as it is needed, or at once where that cannot be. */
export function pagedAsset(path: string): PagedAsset {
  const place = placesOf()[path]
  const paged = place && pagedFile(EXECUTABLE, ...place)
  return paged ?? { bytes: readAsset(path), need() {} }
}

/** Part of a file, read as it is needed; undefined when the file cannot be read. */
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
