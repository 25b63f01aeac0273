// Container, codec and length of an audio file, read from its bytes. The file's name and declared type are ignored.
import type { InputFormat } from 'mediabunny'

/** Recognized containers. The API accepts fewer, see `AUDIO_EXTENSIONS`. */
type AudioContainer = 'aac' | 'flac' | 'matroska' | 'mp3' | 'mp4' | 'ogg' | 'quicktime' | 'wav' | 'webm'

/** Properties of an audio file. */
interface AudioInfo {
  container: AudioContainer
  /** Such as `aac`, `flac`, `mp3`, `opus`, `pcm-s16` or `vorbis`; absent if the codec is unknown. */
  codec?: string
  /** Length, always above 0: counted from the packets, not taken from a header. */
  seconds: number
  sampleRate: number
  channels: number
}

/** The file extensions that the API accepts for audio, without a dot, and the containers that are valid for each. */
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

/** Reads an audio file, or the first sound track of a video. Undefined if it is no audio, or contains no sound. */
export async function readAudioInfo(bytes: Uint8Array): Promise<AudioInfo | undefined> {
  const media = await import('mediabunny')
  // Playlist formats are omitted: reading one would fetch its targets.
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
    // Checked first, since the reader never stops searching for the last packet of a FLAC file without any.
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
    // The bytes are untrusted: if the reader fails, it is no audio file.
    return undefined
  } finally {
    input.dispose()
  }
}
