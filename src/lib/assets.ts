// Files that ship inside the executable. Compiled, they are embedded under their path from the project's root; run from
// source, they are read from there.
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'

/** True in the compiled executable, whose modules live in a file system of its own. */
export const isCompiled = import.meta.dir.includes('$bunfs') || import.meta.dir.includes('~BUN')

const root = isCompiled ? import.meta.dir : join(import.meta.dir, '..', '..')

/** One shipped file by its path from the project's root, such as `fixtures/chat.completions/greeting.yaml`. */
export function readAsset(path: string): Uint8Array {
  return readFileSync(join(root, path))
}

/** Paths of all shipped files below a folder, sorted. */
export function listAssets(folder: string): string[] {
  if (isCompiled) {
    // Embedded files are named by their path from the project's root; the type does not say that they have a name.
    const names = (Bun.embeddedFiles as (Blob & { name: string })[]).map((file) => file.name.replace(/^\.\//, ''))
    return names.filter((name) => name.startsWith(`${folder}/`)).sort()
  }
  const names = readdirSync(join(root, folder), { recursive: true }) as string[]
  const files = names.filter((name) => statSync(join(root, folder, name)).isFile())
  return files.map((name) => `${folder}/${name.replaceAll('\\', '/')}`).sort()
}
