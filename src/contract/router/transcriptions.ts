// Transcription on the wire: a translation's form and answers, in the language that is spoken.
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

/** A call whose file has been read. */
export type TranscriptionRequest = TranslationRequest &
  Pick<TranscriptionForm, 'language' | 'timestamp_granularities[]'>

const VerboseTranscription = VerboseTranslation.extend({
  task: z.literal('transcribe'),
  text: z.string().describe('The transcribed text.'),
})

/** The answer in each of its forms: `text`, `srt` and `vtt` are one JSON string, which every client reads. */
export const Transcription = z.union([
  VerboseTranscription,
  z.object({ text: z.string().describe('The transcribed text.') }),
  z.string(),
])
