// POST /v2/router/audio/transcriptions: a text for an audio file, with timings that match its length.
import type { Operation, RenderedAnswer } from '../contract/core/operation.ts'
import { Transcription, TranscriptionForm, type TranscriptionRequest } from '../contract/router/transcriptions.ts'
import type { TranslationScript } from '../contract/router/translations.ts'
import { asObject } from '../lib/values.ts'
import { readAudioFile } from './audio/read-file.ts'
import { audioTranslations, composeTranslation } from './audio-translations.ts'

/** A request before and after its file is read. */
type Request = TranscriptionForm | TranscriptionRequest

/** The operation "Transcribe audio", an extension. */
export const audioTranscriptions: Operation<Request, TranslationScript> = {
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
