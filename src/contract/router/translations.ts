// Audio translation and transcription on the wire: the form of the specification with the defaults of real services, the
// response, and fixture replies.
import { z } from 'zod'
import type { PromptFile } from '../core/operation.ts'
import { Timing } from './script.ts'
import { CallFieldsUncached, ModelId } from './shared.ts'

const fields = {
  file: z.file().describe('The audio: flac, mp3, mp4, mpeg, mpga, m4a, ogg, wav or webm.'),
  model: ModelId.meta({ examples: ['openai/whisper-1'] }),
  prompt: z.string().optional().describe('Guides the style or continues an earlier segment.'),
  enable_logging: z
    .boolean()
    .default(true)
    .describe('If false, the trace stores neither the request nor the response.'),
  diarize: z.boolean().default(false).describe('Whether to label speakers as `speaker_0`, `speaker_1`, and so on.'),
  response_format: z
    .enum(['json', 'text', 'srt', 'verbose_json', 'vtt'])
    .default('json')
    .describe('Response format. `text`, `srt`, and `vtt` are returned as one JSON string.'),
  tag_audio_events: z.boolean().default(true).describe('Whether to include events such as `(laughter)` in the text.'),
  num_speakers: z.int().min(1).max(32).optional().describe('Maximum number of distinct speakers.'),
  timestamps_granularity: z
    .enum(['none', 'word', 'character'])
    .default('word')
    .describe('What `verbose_json` includes timings for, in addition to segments.'),
  temperature: z
    .number()
    .min(0)
    .max(1)
    .optional()
    .describe('Recorded. Hosted models raise 0 automatically when needed.'),
  ...CallFieldsUncached,
}

/** The fields of `POST /v2/router/audio/translations`, each read from its text; unknown fields are kept. */
export const TranslationForm = z.looseObject(fields)
export type TranslationForm = z.infer<typeof TranslationForm>

/** A parsed audio file; its length is in whole milliseconds. */
export interface AudioFile extends PromptFile {
  /** Media type in the form. */
  type: string
  /** Size in bytes. */
  size: number
  /** The container by the content of the file, whatever its name: `wav`, `mp3`. */
  container: string
  /** The file itself, for forwarding. */
  source: File
}

/** A call with its parsed file. */
export type TranslationRequest = Omit<z.infer<z.ZodObject<typeof fields>>, 'file'> & { file: AudioFile }

const seconds = z.number().min(0)
const Span = z.object({
  start: seconds.describe('Start, in seconds.'),
  end: seconds.describe('End, in seconds.'),
})
const speaker = z.string().describe('The speaker. Only with `diarize`.').optional()

/** The response to `verbose_json`; `speaker` is set if the call requested it, `characters` with that granularity. */
export const VerboseTranslation = z.object({
  task: z.literal('translate'),
  language: z.string().describe('The spoken language.'),
  duration: seconds.describe('Duration of the audio in seconds.'),
  text: z.string().describe('The English text.'),
  words: z
    .array(
      Span.extend({
        word: z.string().describe('The word.'),
        speaker,
        characters: z
          .array(Span.extend({ text: z.string().describe('The character.') }))
          .describe('The characters of the word with their times.')
          .optional(),
      }),
    )
    .describe('The words with their times. Only if requested by `timestamps_granularity`.')
    .optional(),
  segments: z
    .array(
      Span.extend({
        id: z.int().describe('Index of the segment, from 0.'),
        seek: z.int().describe('Seek offset of the audio window, in hundredths of a second.'),
        text: z.string().describe('Text of the segment.'),
        tokens: z.array(z.int()).describe('The tokens of its text.'),
        temperature: z.number().describe('Temperature used.'),
        avg_logprob: z.number().describe('Mean log probability of its tokens.'),
        compression_ratio: z.number().describe('Compression ratio of the text. A high value indicates repetition.'),
        no_speech_prob: z.number().describe('Probability that the segment contains no speech.'),
        speaker,
      }),
    )
    .describe('The sentences with their times.'),
})
export type VerboseTranslation = z.infer<typeof VerboseTranslation>

/** The response in each of its formats: `text`, `srt` and `vtt` are one JSON string, which every client can read. */
export const Translation = z.union([
  VerboseTranslation,
  z.object({ text: z.string().describe('The English text.') }),
  z.string(),
])
export type Translation = z.infer<typeof Translation>

/** The fields of `POST /v2/router/audio/transcriptions`, each read from its text; unknown fields are kept. */
export const TranscriptionForm = TranslationForm.extend({
  language: z.string().optional().describe('Spoken language, as ISO 639-1. Recorded, and returned by `verbose_json`.'),
  'timestamp_granularities[]': z
    .enum(['word', 'segment'])
    .optional()
    .describe(
      'What `verbose_json` includes timings for, as OpenAI clients send it. The last of several values counts.',
    ),
  stream: z.literal(false).nullish().describe('Streaming is not emulated.'),
})
export type TranscriptionForm = z.infer<typeof TranscriptionForm>

/** A call with its parsed file. */
export type TranscriptionRequest = TranslationRequest &
  Pick<TranscriptionForm, 'language' | 'timestamp_granularities[]'>

const VerboseTranscription = VerboseTranslation.extend({
  task: z.literal('transcribe'),
  text: z.string().describe('The transcribed text.'),
})

/** The response in each of its formats: `text`, `srt` and `vtt` are one JSON string, which every client can read. */
export const Transcription = z.union([
  VerboseTranscription,
  z.object({ text: z.string().describe('The transcribed text.') }),
  z.string(),
])

const ScriptSegment = z
  .strictObject({
    text: z.string().default('').describe('What is said.'),
    speaker: z
      .union([z.string(), z.int()])
      .optional()
      .describe('Any name. Responses number the speakers in order of appearance.'),
    event: z.string().min(1).optional().describe('Audio event after the text, such as `laughter`.'),
    start: seconds.optional().describe('Start in seconds. Default: derived from the length of the text.'),
    end: seconds.optional().describe('End in seconds. Default: derived from the length of the text.'),
  })
  .refine((segment) => segment.text !== '' || segment.event !== undefined, {
    error: "must have a 'text', an 'event' or both",
  })
  .refine(({ start = 0, end }) => end === undefined || end >= start, { error: "'end' must not be before 'start'" })
/** One segment of a fixture's text; `start` and `end` are seconds. */
export type ScriptSegment = z.infer<typeof ScriptSegment>

/** The spoken text of a fixture: one text, or its segments. */
export const TranslationScript = z
  .strictObject({
    text: z.string().optional().describe('The whole text; its sentences become the segments.'),
    segments: z.array(ScriptSegment).optional().describe('Parts of the text, instead of `text`.'),
    language: z.string().optional().describe('Name of the language of the text. Default: english.'),
    timing: Timing.optional().describe('How fast the reply comes.'),
  })
  .refine((script) => (script.text === undefined) !== (script.segments === undefined), {
    error: "must have exactly one of 'text' and 'segments'",
  })
export type TranslationScript = z.infer<typeof TranslationScript>
