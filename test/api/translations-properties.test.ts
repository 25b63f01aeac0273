import { afterAll, expect } from 'bun:test'
import fc from 'fast-check'
import { TranslationScript } from '../../src/contract/router/translations.ts'
import { charactersOf, segmentsOf } from '../../src/endpoints/audio/answer.ts'
import { createTestApp } from '../support/app.ts'
import { notOf, oneOf, routingFields, routingMistakes } from '../support/arbitrary.ts'
import { property, runs } from '../support/property.ts'
import { strictTranslation } from '../support/strict/translations.ts'
import { fileOf, media, send, speak } from '../support/translations.ts'

const app = createTestApp()
afterAll(app.close)

const files = await Promise.all([
  speak('wav', 'Hi!').then((bytes) => fileOf(bytes, 'hi.wav')),
  speak('flac', 'It is a long story. '.repeat(9)).then((bytes) => fileOf(bytes, 'story.flac')),
  speak('opus').then((bytes) => fileOf(bytes, 'talk.ogg')),
  media('silence.m4a').then((bytes) => fileOf(bytes, 'silence.m4a')),
])
const fields = {
  file: fc.constantFrom(...files),
  model: fc.constantFrom('openai/whisper-1', 'groq/whisper-large-v3'),
  prompt: fc.oneof(fc.string(), fc.nat().map(String)),
  enable_logging: fc.boolean(),
  diarize: fc.boolean(),
  response_format: fc.constantFrom('json', 'text', 'srt', 'verbose_json', 'vtt'),
  tag_audio_events: fc.boolean(),
  num_speakers: fc.integer({ min: 1, max: 32 }),
  timestamps_granularity: fc.constantFrom('none', 'word', 'character'),
  temperature: fc.double({ min: 0, max: 1, noNaN: true }),
  ...routingFields,
}
// In a form `null` is one more text where a text is wanted.
const valid = fc.record(
  { ...fields, name: fc.oneof(fc.string(), fc.nat().map(String), fc.constantFrom('true', 'null', '{}')) },
  { requiredKeys: ['file', 'model'] },
)

/** The times in a subtitle file, in seconds. */
const timesOf = (text: string) =>
  [...text.matchAll(/(\d\d):(\d\d):(\d\d)[.,](\d{3})/g)].map(
    ([, hours, minutes, seconds, thousandths]) =>
      Number(hours) * 3600 + Number(minutes) * 60 + Number(`${seconds}.${thousandths}`),
  )
const expectTimes = (times: number[], length: number) => {
  expect(times).toEqual(times.toSorted((a, b) => a - b))
  for (const time of times) expect(time).toBeWithin(0, length + 1e-9)
}

property('property: any valid translation form gets a valid response within the length of the file', async () => {
  await fc.assert(
    fc.asyncProperty(valid, async (form) => {
      const answer = await send(app, form)
      expect([answer.status, answer.text]).toEqual([200, expect.any(String)])
      const value = strictTranslation(answer.json())
      const { usage } = await app.traceOf(answer)
      const length = Number(usage?.seconds)
      switch (form.response_format ?? 'json') {
        case 'json':
          return expect(value).toEqual({ text: expect.stringMatching(/\w/) })
        case 'verbose_json':
          break
        default:
          expect(value).toBeString()
          return expectTimes(timesOf(value as string), length)
      }
      if (typeof value === 'string' || !('segments' in value)) throw new Error(answer.text)
      const { segments = [], words } = value
      expect(value.duration).toBe(length)
      expect(segments.map(({ text }) => text).join(' ')).toBe(value.text)
      expectTimes(
        segments.flatMap(({ start, end }) => [start, end]),
        length,
      )
      if (form.timestamps_granularity === 'none') return expect(words).toBeUndefined()
      expect(words?.map(({ word }) => word).join(' ')).toBe(value.text)
      expectTimes(words?.flatMap(({ start = -1, end = -1 }) => [start, end]) ?? [], length)
      const speakers = new Set(segments.map((segment) => segment.speaker as string | undefined))
      if (!form.diarize) return expect([...speakers]).toEqual([undefined as never])
      expect(speakers.size).toBeWithin(1, (form.num_speakers ?? 2) + 1)
    }),
    { numRuns: runs(60) },
  )
})

// A name may be any text, and audio calls are never cached: neither can be wrong.
const { name: _, cache: __, ...routing } = routingMistakes
const words = (...not: string[]) => fc.string().filter((text) => !not.includes(text.trim()))
const mistakes: Record<string, fc.Arbitrary<unknown>> = {
  ...routing,
  // In a form all is text, and most texts may be the name of a model.
  model: fc.constantFrom('', ' ', '[]', '{}', 'a b', '/x', 'openai/'),
  svc: fc.oneof(notOf('object'), fc.constant({ retry: { count: 9 } }), fc.constantFrom('{', 'x', '')),
  file: fc.oneof(
    fc.string(),
    fc.uint8Array({ maxLength: 300 }).map((bytes) => fileOf(bytes, 'noise.mp3')),
  ),
  enable_logging: words('true', 'false'),
  diarize: words('true', 'false'),
  tag_audio_events: words('true', 'false'),
  response_format: words('json', 'text', 'srt', 'verbose_json', 'vtt'),
  timestamps_granularity: words('none', 'word', 'character'),
  num_speakers: fc.oneof(fc.integer({ max: 0 }), fc.integer({ min: 33 }), fc.constantFrom('1.5', 'many', '')),
  temperature: fc.oneof(
    fc.double({ min: 1.001, noDefaultInfinity: true, noNaN: true }),
    fc.constantFrom('-0.1', 'hot'),
  ),
}

property('property: an invalid translation field is a 4xx that names it', async () => {
  await fc.assert(
    fc.asyncProperty(valid, oneOf(mistakes), async (form, [field, wrong]) => {
      const text = typeof wrong === 'string' && field in routing && field !== 'model' ? JSON.stringify(wrong) : wrong
      const answer = await send(app, { ...form, [field]: text })
      expect(answer.status).toBeWithin(400, 500)
      const { error } = answer.json() as { error: { param: string } }
      expect(error.param.split(/[.[]/)[0]).toBe(field)
    }),
    { numRuns: runs(200) },
  )
})

const times = fc.option(fc.double({ min: 0, max: 20, noNaN: true }), { nil: undefined })
const segment = fc
  .record({ text: fc.string({ minLength: 1 }), speaker: fc.nat(5), event: fc.constantFrom(undefined, 'music') })
  .chain((said) => fc.tuple(times, times).map(([a, b]) => ({ ...said, start: a, end: b })))
  .filter(({ start = 0, end }) => end === undefined || end >= start)

property('property: fixture segments are laid over the file in order without a loss', () => {
  const options = fc.record({
    diarize: fc.boolean(),
    num_speakers: fc.integer({ min: 1, max: 32 }),
    tag_audio_events: fc.boolean(),
  })
  fc.assert(
    fc.property(fc.array(segment), options, fc.double({ min: 0, max: 15, noNaN: true }), (segments, wanted, length) => {
      const source = new File([], 'a.wav')
      const file = { name: 'a.wav', type: '', size: 1, sha256: '', seconds: length, container: 'wav', source }
      const laid = segmentsOf(TranslationScript.parse({ segments }), { ...wanted, file })
      const said = segments.flatMap(({ text, event }) => [
        ...text.split(/\s+/).filter((word) => word !== ''),
        ...(event && wanted.tag_audio_events ? [`(${event})`] : []),
      ])
      const timed = laid.flatMap((one) => one.words)
      expect(timed.map(({ text }) => text)).toEqual(said)
      expect(
        timed
          .flatMap(charactersOf)
          .map(({ text }) => text)
          .join(''),
      ).toBe(said.join(''))
      for (const pieces of [laid, timed, timed.flatMap(charactersOf)]) {
        expectTimes(
          pieces.flatMap(({ start, end }) => [start, end]),
          Math.round(length * 1000),
        )
      }
    }),
  )
})
