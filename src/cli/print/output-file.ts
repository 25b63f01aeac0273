// Output files of commands.
import { writePrivateFile } from '../../lib/private-files.ts'
import { ServerError } from '../errors.ts'

/**
 * Writes a file atomically. If that fails, as on a full disk, the previous file stays.
 * @throws ServerError that names the file
 */
export function writeOutputFile(file: string, content: string): void {
  try {
    writePrivateFile(file, content)
  } catch (error) {
    throw new ServerError(`${file} cannot be written: ${(error as Error).message}`)
  }
}
