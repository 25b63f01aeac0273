// Reads the audio file of a call, and refuses what is none. Its bytes decide what it is, whatever its name says or leaves out.
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

/**
 * What the file is and how long it lasts; 422 naming `file`, what was found and what would be valid otherwise.
 * @throws ApiError 422 with the parameter `file`
 */
export async function readAudioFile(file: File): Promise<AudioFile> {
  // A part of a form may come without a file name.
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
    // Never rounded up, so that no timing of an answer lies behind the end of the file.
    seconds: Math.floor(info.seconds * 1000 + 1e-6) / 1000,
    container: info.container,
    source: file,
  }
}
