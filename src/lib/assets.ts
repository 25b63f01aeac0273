// Files that ship inside the executable, by their path from the project's root. The compiled program embeds them under
// `assets/` (build/build.ts); a program that runs from source reads them from disk.
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'

/** True in the compiled executable, whose modules are in a virtual file system. */
export const isCompiled = import.meta.dir.includes('$bunfs') || import.meta.dir.includes('~BUN')

const FOLDER = 'assets'
/** Root folder of the executable's modules. A worker's module is in a folder below it. */
const embedded = /^.*(?:\$bunfs|~BUN)[\\/]root/.exec(import.meta.dir)?.[0] ?? import.meta.dir
const root = isCompiled ? join(embedded, FOLDER) : join(import.meta.dir, '..', '..')

/**
 * One shipped file by its path from the project's root, such as `fixtures/chat.completions/greeting.yaml`.
 * @example
 * new TextDecoder().decode(readAsset('package.json')).includes('"name"') // => true
 */
export function readAsset(path: string): Uint8Array {
  const bytes = readFileSync(join(root, path))
  // The build compresses some, which keep their names.
  const packed = bytes[0] === 0x1f && bytes[1] === 0x8b && !path.endsWith('.gz')
  // Without `node:zlib`, which loads the streams: no start needs them.
  return packed ? Bun.gunzipSync(bytes) : bytes
}

/** Paths of all shipped files below a folder, sorted. */
export function listAssets(folder: string): string[] {
  if (isCompiled) {
    // The type lacks the names of embedded files.
    const names = (Bun.embeddedFiles as (Blob & { name: string })[]).map((file) => file.name.replace(/^\.\//, ''))
    const own = names.filter((name) => name.startsWith(`${FOLDER}/${folder}/`)).sort()
    return own.map((name) => name.slice(FOLDER.length + 1))
  }
  const names = readdirSync(join(root, folder), { recursive: true }) as string[]
  const files = names.filter((name) => statSync(join(root, folder, name)).isFile())
  return files.map((name) => `${folder}/${name.replaceAll('\\', '/')}`).sort()
}
