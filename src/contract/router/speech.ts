// Speech on the wire: the input text, the sound, and fixture replies.
import { z } from 'zod'
import { FileName, Timing } from './script.ts'
import { CallFieldsUncached, ModelId } from './shared.ts'

/** The supported formats, with their media types. */
export const SPEECH_TYPES = {
  mp3: 'audio/mpeg',
  opus: 'audio/ogg',
  flac: 'audio/flac',
  wav: 'audio/wav',
  pcm: 'audio/pcm',
} as const

/** The body of `POST /v2/router/audio/speech`; unknown fields are kept. */
export const SpeechRequest = z.looseObject({
  input: z.string().min(1).max(4096).describe('Text to speak.'),
  model: ModelId.meta({ examples: ['openai/tts-1'] }),
  voice: z
    .union([z.string().min(1), z.looseObject({ id: z.string().min(1).describe('Name.') })])
    .describe('Voice: any name. The same name always sounds the same.'),
  response_format: z
    .enum(['mp3', 'opus', 'flac', 'wav', 'pcm'])
    .default('mp3')
    .describe('Audio format. `pcm` is 16-bit little-endian at 24 kHz. AAC is not supported.'),
  speed: z.number().min(0.25).max(4).default(1).describe('Speed.'),
  instructions: z.string().nullish().describe('Style instructions. Recorded, but without effect.'),
  stream_format: z.literal('audio').nullish().describe('Always the audio. Events are not emulated.'),
  ...CallFieldsUncached,
})
export type SpeechRequest = z.infer<typeof SpeechRequest>

/** The sound as traces store it; clients receive only its bytes. */
export const SpokenAudio = z.object({
  audio: z.base64().describe('The file.'),
  content_type: z.string().describe('Media type.'),
})
export type SpokenAudio = z.infer<typeof SpokenAudio>

/** The `reply` of a speech fixture. By default, the sound is generated from the text. */
export const SpeechScript = z
  .strictObject({
    text: z.string().min(1).optional().describe('Text to speak instead of the text of the call.'),
    audio: z
      .union([z.base64(), FileName])
      .optional()
      .describe('An audio file as base64, or the name of a file next to the fixture. It is returned unchanged.'),
    content_type: z.string().optional().describe('Media type. Default: that of the requested format.'),
    timing: Timing.optional().describe('How fast the reply comes.'),
  })
  .refine((script) => script.text === undefined || script.audio === undefined, {
    error: "must have at most one of 'text' and 'audio'",
  })
export type SpeechScript = z.infer<typeof SpeechScript>
