// Transcription on the wire: the form and responses of a translation, in the spoken language.
import { z } from 'zod'
import { TranslationForm, type TranslationRequest, VerboseTranslation } from './translations.ts'

const granularities = z.enum(['word', 'segment'])

/** The fields of `POST /v2/router/audio/transcriptions`, each read from its text; unknown fields are kept. */
export const TranscriptionForm = TranslationForm.extend({
  language: z.string().optional().describe('Spoken language, as ISO 639-1. Recorded, and returned by `verbose_json`.'),
  'timestamp_granularities[]': granularities
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
