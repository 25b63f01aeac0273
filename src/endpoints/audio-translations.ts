// POST /v2/router/audio/translations (the specification, "Translate audio to English"), and /transcriptions.
import { countCached } from '../answers/text-answer.ts'
import type { Operation, RenderedAnswer } from '../contract/core/operation.ts'
import { Transcription, TranscriptionForm, type TranscriptionRequest } from '../contract/router/transcriptions.ts'
import {
  Translation,
  TranslationForm,
  type TranslationRequest,
  TranslationScript,
} from '../contract/router/translations.ts'
import { asObject, asText } from '../lib/values.ts'
import { answerOf, translationText } from './audio/answer.ts'
import { generate } from './audio/generate.ts'
import { readAudioFile } from './audio/read-file.ts'
import { translationScriptOf } from './audio/script-of.ts'
import { segmentsOf } from './audio/timeline.ts'
import { userPrompt, wholeAnswer, wholeOperation } from './common.ts'

/** A request before and after its file is read. Responses are composed after it. */
type Request = TranslationForm | TranslationRequest

/** The operation "Translate audio to English" of the specification. */
export const audioTranslations: Operation<Request, TranslationScript> = {
  ...wholeOperation,
  name: 'audio.translations',
  path: '/v2/router/audio/translations',
  answerName: 'translation',
  summary: 'Translate audio to English',
  description:
    'Returns English text for an audio file. The file is parsed, so the timings in the response match its length. Send objects as JSON in their form field.',
  examples: {
    text: { file: 'talk.mp3', model: 'openai/whisper-1', prompt: 'A talk about the weather.' },
    conversation: {
      file: 'interview.mp3',
      model: 'openai/whisper-1',
      response_format: 'verbose_json',
      diarize: true,
      num_speakers: 2,
      retry: { count: 2, on_codes: [429, 503] },
    },
  },
  body: 'multipart',
  invalidStatus: 422,
  request: TranslationForm,
  response: Translation,
  script: TranslationScript,
  prompt: ({ prompt = '', file }: TranslationRequest) => userPrompt(prompt, { file }),
  promptTokens: ({ prompt = '' }, count = countCached) => count(prompt),
  attachments: ({ file }) => [{ kind: 'audio', name: file.name ?? '' }],
  retains: (body) => String((body as { enable_logging?: unknown }).enable_logging).trim() !== 'false',
  resolve: async (request: TranslationForm): Promise<TranslationRequest> => ({
    ...request,
    file: await readAudioFile(request.file),
  }),
  generate: (request: TranslationRequest) => generate(request),
  compose: composeTranslation,
  // Subtitles and plain texts are strings; every other format has a `text`.
  wrongWith: (value) =>
    (asText(value) ?? asText(asObject(value)?.text)) === undefined ? "it has no 'text'" : undefined,
  scriptOf: translationScriptOf,
}

/** The response to a call, with timings that match its file. */
function composeTranslation(request: TranslationRequest, script: TranslationScript): RenderedAnswer {
  const response = { request, script, segments: segmentsOf(script, request) }
  const usage = { seconds: request.file.seconds }
  return wholeAnswer(usage, () => answerOf(response), countCached(translationText(response)))
}

/** The operation "Transcribe audio", an extension. */
export const audioTranscriptions: Operation<TranscriptionForm | TranscriptionRequest, TranslationScript> = {
  ...audioTranslations,
  name: 'audio.transcriptions',
  path: '/v2/router/audio/transcriptions',
  answerName: 'transcription',
  extension: true,
  summary: 'Transcribe audio',
  description:
    'Returns a text for an audio file. The file is parsed, so the timings in the response match its length. Speech is not recognized.',
  examples: {
    text: { file: 'talk.mp3', model: 'openai/whisper-1', language: 'en' },
    words: { file: 'talk.mp3', model: 'openai/whisper-1', response_format: 'verbose_json' },
  },
  request: TranscriptionForm,
  response: Transcription,
  async resolve(request: TranscriptionForm): Promise<TranscriptionRequest> {
    const requested = request['timestamp_granularities[]']
    const timestamps_granularity =
      requested === undefined ? request.timestamps_granularity : requested === 'word' ? 'word' : 'none'
    return { ...request, timestamps_granularity, file: await readAudioFile(request.file) }
  },
  compose(request: TranscriptionRequest, script: TranslationScript): RenderedAnswer {
    const spokenScript = { ...script, language: script.language ?? request.language }
    const { body, ...rest } = composeTranslation(request, spokenScript)
    return {
      ...rest,
      body() {
        const answer = body()
        return asObject(answer)?.task === undefined ? answer : { ...asObject(answer), task: 'transcribe' }
      },
    }
  },
}
