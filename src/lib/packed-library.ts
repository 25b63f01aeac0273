// Libraries that few calls use, as the executable contains them: a compressed bundle each, which is unpacked when it is first
// imported (build/packed-libraries.ts). As modules with bytecode they would take about ten times the room.
import { gunzipSync } from 'node:zlib'
import { readAsset } from './assets.ts'

/**
 * The file of a library, from the project's root.
 * @example
 * packedFile('@x/y') // => 'dist/libraries/@x+y.js.gz'
 */
export const packedFile = (name: string): string => `dist/libraries/${name.replaceAll('/', '+')}.js.gz`

/** What a library exports. Needs the executable: from source, a library is imported by its name. */
export async function packedLibrary(name: string): Promise<Record<string, unknown>> {
  const code = new Uint8Array(gunzipSync(readAsset(packedFile(name))))
  const url = URL.createObjectURL(new Blob([code], { type: 'text/javascript' }))
  try {
    return await import(url)
  } finally {
    URL.revokeObjectURL(url)
  }
}
