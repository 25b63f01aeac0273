// POST /v2/router/audio/translations (the specification, "Translate audio to English"), and /transcriptions.
import { countCached } from '../answers/text-answer.ts'
import { ApiError } from '../contract/core/error.ts'
import type { Operation, RenderedAnswer } from '../contract/core/operation.ts'
import {
  type AudioFile,
  Transcription,
  TranscriptionForm,
  type TranscriptionRequest,
  Translation,
  TranslationForm,
  type TranslationRequest,
  TranslationScript,
} from '../contract/router/translations.ts'
import { sha256 } from '../lib/ids.ts'
import { AUDIO_EXTENSIONS, readAudioInfo } from '../lib/media/audio-info.ts'
import { asObject, asText } from '../lib/values.ts'
import { answerOf, segmentsOf, translationText } from './audio/answer.ts'
import { generate } from './audio/generate.ts'
import { translationScriptOf } from './audio/script-of.ts'
import { userPrompt, wholeAnswer, wholeOperation } from './common.ts'

const SUPPORTED = Object.keys(AUDIO_EXTENSIONS)
const CONTAINERS = new Set(Object.values(AUDIO_EXTENSIONS).flat())
const refused = (problem: string) =>
  new ApiError(422, 'invalid_file', `'file' ${problem}; send audio of one of these kinds: ${SUPPORTED.join(', ')}`, {
    param: 'file',
  })

/** Type and length of the file. Throws 422 that names `file`, what was found and what is valid. */
async function readAudioFile(file: File): Promise<AudioFile> {
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
