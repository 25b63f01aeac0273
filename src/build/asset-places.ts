// Writes into an executable where some of its shipped files lie in it, so that it can read parts of them (lib/paged-asset.ts).
import { closeSync, openSync, readFileSync, writeSync } from 'node:fs'

/** What the file of places holds until the executable is there: no place, and room for some. */
export const NO_PLACES = `{"":"${'places of assets '.repeat(8)}"}`

/** Fills the room in an executable with the places of files, each by its path and content. */
export function writePlaces(executable: string, files: Readonly<Record<string, Uint8Array>>): void {
  const whole = readFileSync(executable)
  const room = whole.indexOf(NO_PLACES)
  const entries = Object.entries(files).map(
    ([path, content]) => [path, [offsetOf(content, whole), content.length]] as const,
  )
  const text = JSON.stringify(Object.fromEntries(entries.filter(([, [offset]]) => offset >= 0)))
  if (room < 0 || text.length > NO_PLACES.length)
    throw new Error(`${executable} has no room for the asset table: ${text}`)
  const file = openSync(executable, 'r+')
  writeSync(file, text.padEnd(NO_PLACES.length), room, 'latin1')
  closeSync(file)
}

/** Bytes with which a search begins: one for the whole content reads the executable twenty times slower. */
const FIRST_BYTES = 64

/** Where a content lies in the executable; -1 where it does not. */
function offsetOf(content: Uint8Array, whole: Buffer): number {
  const first = content.subarray(0, FIRST_BYTES)
  let offset = whole.indexOf(first)
  while (offset >= 0 && !whole.subarray(offset, offset + content.length).equals(content))
    offset = whole.indexOf(first, offset + 1)
  return offset
}
