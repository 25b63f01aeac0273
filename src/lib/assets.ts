// Files that ship inside the executable. Compiled, they are embedded under their path from the project's root; run from
// source, they are read from there.
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dir, '..', '..')

/** True in the compiled executable. */
export const isCompiled = import.meta.dir.includes('$bunfs') || import.meta.dir.includes('~BUN')

// Bundled files are named by their path from the project's root; the type of an embedded file does not say that it has a name.
type EmbeddedFile = Blob & { name: string }
let embedded: Map<string, Blob> | undefined
const embeddedFiles = () =>
  (embedded ??= new Map((Bun.embeddedFiles as EmbeddedFile[]).map((file) => [file.name.replace(/^\.\//, ''), file])))

/** One shipped file by its path from the project's root, such as `fixtures/chat.completions/greeting.yaml`. */
export async function readAsset(path: string): Promise<Uint8Array> {
  if (!isCompiled) return readFileSync(join(root, path))
  const file = embeddedFiles().get(path)
  if (!file) throw new Error(`asset ${path} is not in this executable`)
  return new Uint8Array(await file.arrayBuffer())
}

/** Paths of all shipped files below a folder, sorted. */
export function listAssets(folder: string): string[] {
  if (isCompiled) return [...embeddedFiles().keys()].filter((path) => path.startsWith(`${folder}/`)).sort()
  const names = readdirSync(join(root, folder), { recursive: true }) as string[]
  const files = names.filter((name) => statSync(join(root, folder, name)).isFile())
  return files.map((name) => `${folder}/${name.replaceAll('\\', '/')}`).sort()
}
