// Fixture files of a test, in a folder of their own.
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { emptyFolder } from './server.ts'

/** A folder with these files (text by path, anything else as JSON), and what removes it. */
export function folderWith(files: Record<string, unknown>): { path: string; remove(): void } {
  const folder = emptyFolder()
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder.path, path)), { recursive: true })
    writeFileSync(join(folder.path, path), typeof content === 'string' ? content : JSON.stringify(content))
  }
  return folder
}
