// Reads the audio file of a call, and refuses what is none, or is not what its name says.
import { ApiError } from '../../contract/error.ts'
import type { AudioFile } from '../../contract/translations.ts'
import { sha256 } from '../../lib/ids.ts'
import { AUDIO_EXTENSIONS, readAudioInfo } from '../../lib/media/audio-info.ts'

const SUPPORTED = Object.keys(AUDIO_EXTENSIONS)
const refused = (problem: string) =>
  new ApiError(422, 'invalid_file', `'file' ${problem}; send audio of one of these kinds: ${SUPPORTED.join(', ')}`, {
    param: 'file',
  })

/** What the file is and how long it lasts; 422 naming `file`, what was found and what would be valid otherwise. */
export async function readAudioFile(file: File): Promise<AudioFile> {
  // A part of a form may come without a file name.
  const name = file.name ?? ''
  const shown = JSON.stringify(name)
  const extension = /\.([^./\\]+)$/.exec(name)?.[1]?.toLowerCase()
  if (extension === undefined) throw refused(`is named ${shown}, without an extension that says what it is`)
  const containers = Object.hasOwn(AUDIO_EXTENSIONS, extension) ? AUDIO_EXTENSIONS[extension] : undefined
  if (!containers) throw refused(`is named ${shown}, and .${extension} is not supported`)
  const bytes = await file.bytes()
  if (bytes.length === 0) throw refused(`${shown} is empty`)
  const info = await readAudioInfo(bytes)
  if (!info) throw refused(`${shown} holds no audio that can be read in its ${bytes.length} bytes`)
  if (!containers.includes(info.container)) {
    throw refused(
      `is named ${shown} but is ${info.container}, where .${extension} should be ${containers.join(' or ')}`,
    )
  }
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
