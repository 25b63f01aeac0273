// What an audio file really is, read from its bytes: container, codec and length. A file's name and declared type are never asked.
import type { InputFormat } from 'mediabunny'

/** Kinds of file that are told apart; the API accepts fewer, see `AUDIO_EXTENSIONS`. */
type AudioContainer = 'aac' | 'flac' | 'matroska' | 'mp3' | 'mp4' | 'ogg' | 'quicktime' | 'wav' | 'webm'

/** What is known of an audio file. */
interface AudioInfo {
  container: AudioContainer
  /** Such as `aac`, `flac`, `mp3`, `opus`, `pcm-s16` or `vorbis`; absent where the file names one nobody knows. */
  codec?: string
  /** Length, always above 0: counted from the file's packets, not believed from a header. */
  seconds: number
  sampleRate: number
  channels: number
}

/** The file extensions the API accepts for audio, without a dot, and the containers that a file so named may be. */
export const AUDIO_EXTENSIONS: Readonly<Record<string, readonly AudioContainer[]>> = {
  flac: ['flac'],
  mp3: ['mp3'],
  mp4: ['mp4', 'quicktime'],
  mpeg: ['mp3'],
  mpga: ['mp3'],
  m4a: ['mp4', 'quicktime'],
  ogg: ['ogg'],
  wav: ['wav'],
  webm: ['webm'],
}

/** Reads an audio file, or the first sound track of a video. Undefined when it is no audio, or holds no sound at all. */
export async function readAudioInfo(bytes: Uint8Array): Promise<AudioInfo | undefined> {
  const media = await import('mediabunny')
  // Playlist formats are left out: reading one would fetch what it points to.
  const containers = new Map<InputFormat, AudioContainer>([
    [media.MP4, 'mp4'],
    [media.QTFF, 'quicktime'],
    [media.WEBM, 'webm'],
    [media.MATROSKA, 'matroska'],
    [media.WAVE, 'wav'],
    [media.OGG, 'ogg'],
    [media.FLAC, 'flac'],
    [media.MP3, 'mp3'],
    [media.ADTS, 'aac'],
  ])
  const input = new media.Input({ formats: [...containers.keys()], source: new media.BufferSource(bytes) })
  try {
    const container = containers.get(await input.getFormat())
    const track = await input.getPrimaryAudioTrack()
    // Looked for first, since the reader never ends searching for the last packet of a FLAC file that has none.
    if (!track || !container || !(await new media.EncodedPacketSink(track).getFirstPacket())) return undefined
    const seconds = await track.computeDuration()
    if (!(seconds > 0)) return undefined
    const codec = await track.getCodec()
    return {
      container,
      ...(codec && { codec }),
      seconds,
      sampleRate: await track.getSampleRate(),
      channels: await track.getNumberOfChannels(),
    }
  } catch {
    // The bytes are a stranger's: whatever the reader stumbles over, it is no audio file.
    return undefined
  } finally {
    input.dispose()
  }
}
