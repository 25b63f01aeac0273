import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Operation } from '../../src/contract/core/operation.ts'
import { audioTranslations } from '../../src/endpoints/audio-translations.ts'
import { chatCompletions } from '../../src/endpoints/chat-completions.ts'
import { read } from '../../src/gateway/stream/read.ts'
import { createTestApp } from '../support/app.ts'
import { emptyFolder } from '../support/server.ts'
import { fileOf, send, speak, translate, verbose } from '../support/translations.ts'

const folder = emptyFolder()
const path = join(folder.path, 'fixtures.yaml')
writeFileSync(
  path,
  `
- match: { operation: audio.translations, user: two friends }
  reply:
    language: dutch
    segments:
      - { speaker: Ann, text: 'Hi & welcome.', start: 0.25, end: 1 }
      - { speaker: Bob, text: 'Thanks!', event: laughter, start: 1 }
      - { speaker: Bob, text: 'I <3 it.', start: 1.5, end: 2 }
      - { speaker: Cleo, text: 'Me too.', start: 2.5, end: 90 }
- match: { operation: audio.translations, user: one text }
  reply: { text: 'It works. Really!' }
- match: { operation: audio.translations, user: silence }
  reply: { text: '' }
`,
)
const app = createTestApp({ fixtures: [path] })
afterAll(app.close)
afterAll(folder.remove)

describe('translation response', () => {
  const two = (fields: object) => translate(app, { prompt: 'two friends', ...fields })
  const diarized = '[speaker_0] Hi & welcome.\n[speaker_1] Thanks! (laughter) I <3 it.\n[speaker_2] Me too.'
  let end: string
  beforeAll(async () => {
    end = String((await verbose(app, {})).duration).padEnd(5, '0')
  })

  test.each([
    [{}, { text: 'Hi & welcome. Thanks! (laughter) I <3 it. Me too.' }],
    [{ response_format: 'json', tag_audio_events: false }, { text: 'Hi & welcome. Thanks! I <3 it. Me too.' }],
    [{ diarize: true }, { text: diarized }],
    [
      { diarize: true, num_speakers: 2, tag_audio_events: false, response_format: 'text' },
      diarized.replace(' (laughter)', '').replace('speaker_2', 'speaker_0'),
    ],
    [
      { diarize: true, num_speakers: 1 },
      {
        text: '[speaker_0] Hi & welcome. Thanks! (laughter) I <3 it. Me too.',
      },
    ],
    [{ response_format: 'text' }, 'Hi & welcome. Thanks! (laughter) I <3 it. Me too.'],
    [{ prompt: 'one text', response_format: 'text' }, 'It works. Really!'],
    [{ prompt: 'one text', response_format: 'text', diarize: true }, '[speaker_0] It works. Really!'],
    [{ prompt: 'silence' }, { text: '' }],
    [{ prompt: 'silence', response_format: 'srt' }, ''],
    [{ prompt: 'silence', response_format: 'vtt' }, 'WEBVTT\n\n'],
  ])('has the fields for %j', async (fields, expected) => {
    expect(await two(fields)).toEqual(expected)
  })

  test('in srt has numbered cues, commas before the milliseconds, and ends with the file', async () => {
    expect(await two({ response_format: 'srt' })).toBe(
      [
        '1\n00:00:00,250 --> 00:00:01,000\nHi & welcome.\n',
        '2\n00:00:01,000 --> 00:00:01,500\nThanks! (laughter)\n',
        '3\n00:00:01,500 --> 00:00:02,000\nI <3 it.\n',
        `4\n00:00:02,500 --> 00:00:0${end.replace('.', ',')}\nMe too.\n\n`,
      ].join('\n'),
    )
  })

  test('in vtt has a header, points, and no character that could be markup', async () => {
    expect(await two({ response_format: 'vtt', diarize: 'true' })).toBe(
      [
        'WEBVTT\n',
        '00:00:00.250 --> 00:00:01.000\n[speaker_0] Hi &amp; welcome.\n',
        '00:00:01.000 --> 00:00:01.500\n[speaker_1] Thanks! (laughter)\n',
        '00:00:01.500 --> 00:00:02.000\n[speaker_1] I &lt;3 it.\n',
        `00:00:02.500 --> 00:00:0${end}\n[speaker_2] Me too.\n\n`,
      ].join('\n'),
    )
  })

  test('in verbose_json has everything', async () => {
    const answer = await verbose(app, { prompt: 'two friends', temperature: '0.4', diarize: true })
    expect(answer).toMatchObject({
      task: 'translate',
      language: 'dutch',
      duration: Number(end),
      text: 'Hi & welcome. Thanks! (laughter) I <3 it. Me too.',
    })
    expect(answer.segments.map(({ id, start, end, speaker }) => [id, start, end, speaker])).toEqual([
      [0, 0.25, 1, 'speaker_0'],
      [1, 1, 1.5, 'speaker_1'],
      [2, 1.5, 2, 'speaker_1'],
      [3, 2.5, Number(end), 'speaker_2'],
    ])
    for (const { temperature, seek, tokens, avg_logprob, no_speech_prob } of answer.segments) {
      expect([temperature, seek, tokens.length > 1]).toEqual([0.4, 0, true])
      expect(avg_logprob).toBeWithin(-1, 0)
      expect(no_speech_prob).toBeWithin(0, 1)
    }
    expect(answer.words?.filter(({ speaker }) => speaker === 'speaker_1').map(({ word }) => word)).toEqual([
      'Thanks!',
      '(laughter)',
      'I',
      '<3',
      'it.',
    ])
  })

  test.each([
    [{}, ['end', 'start', 'word']],
    [{ timestamps_granularity: 'word' }, ['end', 'start', 'word']],
    [{ timestamps_granularity: 'character' }, ['characters', 'end', 'start', 'word']],
    [{ timestamps_granularity: 'none' }, undefined],
  ])('with %j has words with %j', async (fields, keys) => {
    const { words } = await verbose(app, fields)
    expect(words && Object.keys(words[0] ?? {}).sort()).toEqual(keys as string[])
  })
})

test('translation without a fixture: is as long as the file and the same for the same file and prompt', async () => {
  const file = fileOf(await speak('flac', 'A long story. '.repeat(60)), 'long.flac')
  const answer = await verbose(app, { file, diarize: true, num_speakers: 3 })
  expect(answer).toEqual(await verbose(app, { file, diarize: true, num_speakers: 3 }))
  expect((answer.words?.length ?? 0) / answer.duration).toBeWithin(2, 4)
  expect([...new Set(answer.segments.map(({ speaker }) => speaker))].sort()).toEqual([
    'speaker_0',
    'speaker_1',
    'speaker_2',
  ])
  expect(answer.segments.some(({ seek }) => seek === 3000)).toBe(true)
  expect(answer.text).not.toBe((await verbose(app, { file, prompt: 'Another one.' })).text)
  expect(answer.text).not.toBe((await verbose(app, { file: fileOf(await speak('wav'), 'a.wav') })).text)
})

describe('translation trace', () => {
  const identity = { id: 'user-1', email: 'me@example.com' }
  const thread = { id: 'thread-1', tags: ['a'] }

  test('names the caller, the options, the length and the cost', async () => {
    const answer = await send(app, {
      name: 'Minutes',
      metadata: { tier: 'gold' },
      identity,
      thread,
      prompt: 'one text',
    })
    const trace = await app.traceOf(answer)
    expect(trace).toMatchObject({
      operation: 'audio.translations',
      name: 'Minutes',
      model: 'openai/whisper-1',
      metadata: { tier: 'gold' },
      identity,
      thread,
      attachments: [{ kind: 'audio', name: 'talk.mp3' }],
      request: { prompt: 'one text', file: { name: 'talk.mp3', type: 'audio/mpeg', size: expect.any(Number) } },
      response: { text: 'It works. Really!' },
    })
    const { duration } = await verbose(app, {})
    expect(trace.usage).toEqual({ seconds: duration })
    // whisper-1 costs 0.006 USD a minute.
    expect(trace.cost).toBeCloseTo((duration / 60) * 0.006, 9)
  })

  test('reads name and identity from the service options too', async () => {
    const answer = await send(app, { svc: { name: 'Minutes', identity } })
    expect(await app.traceOf(answer)).toMatchObject({ name: 'Minutes', identity })
  })

  test.each([
    [200, {}],
    [422, { temperature: '7' }],
    [422, { retry: 'not JSON but a secret' }],
    [422, { response_format: 'a secret' }],
    [422, { file: 'a secret' }],
    [422, { file: new File([], 'secret.mp3') }],
    [404, { model: 'secret/model' }],
  ])('stores nothing of a %i to %j under zero retention', async (status, fields) => {
    const file = fileOf(await speak('wav'), 'secret.wav')
    const answer = await send(app, { file, prompt: 'a secret', enable_logging: 'false', name: 'Minutes', ...fields })
    expect(answer.status).toBe(status)
    const trace = await app.traceOf(answer)
    expect(trace).toMatchObject({ name: expect.any(String), status, attachments: [], request: null, response: null })
    expect(JSON.stringify({ ...trace, model: null })).not.toContain('secret')
    const kept = await app.traceOf(await send(app, { file, prompt: 'a secret', ...fields }))
    expect(JSON.stringify(kept)).toContain('secret')
  })

  test('stores no failure of an attempt under zero retention', async () => {
    const one = createTestApp({ on_unmatched: 'error' })
    const answer = await send(one, { prompt: 'a secret', enable_logging: 'false' })
    expect(answer.status).toBe(404)
    const trace = await one.traceOf(answer)
    expect(trace).toMatchObject({ status: 404, error: { code: 'fixture_not_found', message: 'not kept' } })
    expect(JSON.stringify(trace)).not.toMatch(/secret|talk/)
    await one.close()
  })
})

test.each<[{ name: string }, string, unknown]>([
  [audioTranslations, '"1\\n00:00"', '1\n00:00'],
  [audioTranslations, '{"text":"Hi."}', { text: 'Hi.' }],
  [audioTranslations, '5', "it has no 'text'"],
  [audioTranslations, 'null', "it has no 'text'"],
  [audioTranslations, '[]', "it has no 'text'"],
  [audioTranslations, '{"text":null}', "it has no 'text'"],
  [audioTranslations, '{"text":5,"segments":[null]}', "it has no 'text'"],
  [audioTranslations, '{"text":"Hi.","segments":null,"words":[5]}', { text: 'Hi.', segments: null, words: [5] }],
  [audioTranslations, '"cut of', 'is not valid JSON'],
  [chatCompletions, '"Hi."', 'it is not an object'],
])('translation of a provider, case %#: is read or rejected', async (operation, text, expected) => {
  const body = { kind: 'bytes' as const, bytes: Buffer.from(text), contentType: 'application/json' }
  const reply = { status: 200, headers: {}, body, usage: null, fixture: null, generated: false }
  const reading = { operation: operation as unknown as Operation, stream: false, signal: new AbortController().signal }
  const outcome = await Promise.resolve(read(reply, reading)).then(
    (content) => content,
    (error: Error) => error.message,
  )
  if (typeof outcome === 'string') expect(outcome).toContain(expected as string)
  else expect(outcome).toEqual({ kind: 'whole', value: expected, text })
})
