// Audio files, and forms that hold them.
import { join } from 'node:path'
import type { VerboseTranslation } from '../../src/contract/router/translations.ts'
import { renderSpeech, type SpeechFormat } from '../../src/lib/media/speech.ts'
import type { Answer, TestApp } from './app.ts'
import { strictTranslation } from './strict/translations.ts'

export const TRANSLATIONS = '/v2/router/audio/translations'
export const WHISPER = 'openai/whisper-1'

/** Files by what makes them: to encode MP3 takes tens of milliseconds, and hundreds of forms hold the same file. */
const spoken = new Map<string, Promise<Uint8Array>>()
/** A few seconds of speech, in a copy of its own. */
export async function speak(format: SpeechFormat, text = 'The quick brown fox jumps over the lazy dog.') {
  const key = `${format} ${text}`
  const rendered = spoken.get(key) ?? renderSpeech({ text, voice: 'alloy', format }).then(({ bytes }) => bytes)
  spoken.set(key, rendered)
  return (await rendered).slice()
}
/** The bytes of a file of test/support/media. */
export const media = (name: string) => Bun.file(join(import.meta.dir, 'media', name)).bytes()

/** A file of a form; its type is guessed from its name. */
export const fileOf = (bytes: Uint8Array, name: string) => new File([Buffer.from(bytes)], name)

/** A form: files and texts as they are, anything else as JSON, nothing for undefined. */
export function formOf(fields: object): FormData {
  const form = new FormData()
  for (const [name, value] of Object.entries(fields)) {
    if (value === undefined) continue
    form.append(name, value instanceof Blob || typeof value === 'string' ? value : JSON.stringify(value))
  }
  return form
}

const talk = speak('mp3')
/** A call with these fields besides an MP3 file `talk.mp3` and a model. */
export async function send(app: TestApp, fields: object, headers: Record<string, string> = {}): Promise<Answer> {
  const file = fileOf(await talk, 'talk.mp3')
  return app.fetch(TRANSLATIONS, { method: 'POST', headers, body: formOf({ file, model: WHISPER, ...fields }) })
}

/** The answer of such a call, which a strict client accepts too. */
export async function translate(app: TestApp, fields: object) {
  const answer = await send(app, fields)
  if (answer.status !== 200) throw new Error(answer.text)
  return strictTranslation(answer.json())
}

/** The answer of such a call with everything in it. */
export const verbose = async (app: TestApp, fields: object) =>
  (await translate(app, { response_format: 'verbose_json', ...fields })) as VerboseTranslation
