// POST /v2/router/audio/speech: speech for a text. Equal calls return equal bytes.
import { inWorker } from '../answers/in-worker.ts'
import { countCached } from '../answers/text-answer.ts'
import type { AttemptContext, Operation, RenderedAnswer } from '../contract/core/operation.ts'
import { SPEECH_TYPES, SpeechRequest, SpeechScript, SpokenAudio } from '../contract/router/speech.ts'
import { chance } from '../lib/chance.ts'
import type { SpeechVoice } from '../lib/media/speech.ts'
import { asObject, asText } from '../lib/values.ts'
import { userPrompt, wholeAnswer, wholeOperation } from './common.ts'

/** The operation "Create speech", an extension. The same call produces the same sound. */
export const audioSpeech: Operation<SpeechRequest, SpeechScript> = {
  ...wholeOperation,
  name: 'audio.speech',
  path: '/v2/router/audio/speech',
  answerName: 'speech',
  extension: true,
  summary: 'Create speech',
  description:
    'Returns an audio file with one soft vowel per letter, at the pace of speech. The same text and voice produce the same bytes.',
  examples: {
    text: { model: 'openai/tts-1', input: 'Good morning!', voice: 'nova', response_format: 'wav' },
  },
  request: SpeechRequest,
  response: SpokenAudio,
  script: SpeechScript,
  prompt: ({ input, instructions }) => userPrompt(input, { system: instructions ?? '' }),
  promptTokens: ({ input }, count = countCached) => count(input),
  compose,
  binary: {
    types: Object.values(SPEECH_TYPES),
    encode(value) {
      const { audio, content_type: contentType } = value as SpokenAudio
      return { bytes: new Uint8Array(Buffer.from(audio, 'base64')), contentType }
    },
    decode: (bytes, contentType): SpokenAudio | undefined =>
      /^(?:audio\/|application\/octet-stream)/i.test(contentType)
        ? { audio: bytes.toBase64(), content_type: contentType }
        : undefined,
  },
  wrongWith: (value) => (asText(asObject(value)?.audio) ? undefined : 'it has no sound'),
  scriptOf(answer) {
    const { audio, content_type } = asObject(answer) ?? {}
    return asText(audio) ? SpeechScript.safeParse({ audio, content_type }).data : undefined
  },
}

/** Voices with a sound of their own; any other name gets one of them. */
const VOICES: readonly SpeechVoice[] = ['alloy', 'echo', 'fable', 'onyx', 'nova', 'shimmer']
function voiceOf(voice: SpeechRequest['voice']): SpeechVoice {
  const name = typeof voice === 'string' ? voice : voice.id
  return VOICES.find((one) => one === name) ?? VOICES[Math.floor(chance(0, name, 'voice') * VOICES.length)] ?? 'alloy'
}

async function compose(
  request: SpeechRequest,
  script: SpeechScript,
  { signal }: AttemptContext,
): Promise<RenderedAnswer> {
  const { input, voice, response_format: format, speed } = request
  const text = script.text ?? input
  const speech = { text, voice: voiceOf(voice), format: format === 'pcm' ? ('pcm16' as const) : format, speed }
  // Audio files were read together with the fixture.
  const audio =
    script.audio === undefined ? (await inWorker('speak', speech, { signal })).bytes.toBase64() : String(script.audio)
  const tokens = countCached(text)
  const body = (): SpokenAudio => ({ audio, content_type: script.content_type ?? SPEECH_TYPES[format] })
  return wholeAnswer({ prompt_tokens: tokens, total_tokens: tokens }, body)
}
