// Reads and validates the audio file of a call. Its bytes determine its type, not its name.
import { ApiError } from '../../contract/core/error.ts'
import type { AudioFile } from '../../contract/router/translations.ts'
import { sha256 } from '../../lib/ids.ts'
import { AUDIO_EXTENSIONS, readAudioInfo } from '../../lib/media/audio-info.ts'

const SUPPORTED = Object.keys(AUDIO_EXTENSIONS)
const CONTAINERS = new Set(Object.values(AUDIO_EXTENSIONS).flat())
const refused = (problem: string) =>
  new ApiError(422, 'invalid_file', `'file' ${problem}; send audio of one of these kinds: ${SUPPORTED.join(', ')}`, {
    param: 'file',
  })

/** Type and length of the file. Throws 422 that names `file`, what was found and what is valid. */
export async function readAudioFile(file: File): Promise<AudioFile> {
  // A form part may have no file name.
  const name = file.name ?? ''
  const shown = JSON.stringify(name)
  const bytes = await file.bytes()
  if (bytes.length === 0) throw refused(`${shown} is empty`)
  const info = await readAudioInfo(bytes)
  if (!info) throw refused(`${shown} contains no readable audio in its ${bytes.length} bytes`)
  if (!CONTAINERS.has(info.container)) throw refused(`${shown} is ${info.container}, which is not supported`)
  return {
    name,
    type: file.type,
    size: bytes.length,
    sha256: sha256(bytes),
    // Rounded down, so that no timing lies after the end of the file.
    seconds: Math.floor(info.seconds * 1000 + 1e-6) / 1000,
    container: info.container,
    source: file,
  }
}
