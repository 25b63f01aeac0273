// Detects that a file was written again.
import { statSync } from 'node:fs'

/** A text that changes when the file is written again. */
export function fileVersion(path: string): string {
  const stat = statSync(path, { bigint: true, throwIfNoEntry: false })
  return stat ? `${stat.ino} ${stat.size} ${stat.mtimeNs}` : 'gone'
}
