// Whether a file has been written again.
import { statSync } from 'node:fs'

/** A text that is another when the file has been written again. */
export function fileVersion(path: string): string {
  const stat = statSync(path, { bigint: true, throwIfNoEntry: false })
  return stat ? `${stat.ino} ${stat.size} ${stat.mtimeNs}` : 'gone'
}
