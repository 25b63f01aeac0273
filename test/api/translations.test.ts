import { afterAll, describe, expect, test } from 'bun:test'
import { parseBuffer } from 'music-metadata'
import { createTestApp } from '../support/app.ts'
import { errorOf } from '../support/errors.ts'
import { fileOf, formOf, media, send, speak, TRANSLATIONS, verbose, WHISPER } from '../support/translations.ts'

const app = createTestApp()
afterAll(app.close)

/** The same file by the longer name of its family: WebM is Matroska with fewer codecs. */
function asMatroska(webm: Uint8Array): Uint8Array {
  const bytes = Buffer.from(webm)
  const at = bytes.indexOf('webm')
  const head = bytes.subarray(0, at - 1)
  const size = head[4] === 1 ? 11 : 4
  head[size] = (head[size] ?? 0) + 4
  return Buffer.concat([head, Buffer.from([0x88]), Buffer.from('matroska'), bytes.subarray(at + 4)])
}

describe('translation file', () => {
  /** Names, bytes, and the length that another library reads; browsers write WebM and MP4 without one. */
  const files: [string, () => Promise<Uint8Array>, number | null][] = [
    ['talk.wav', () => speak('wav'), null],
    ['talk.mp3', () => speak('mp3'), null],
    ['TALK.MP3', () => speak('mp3'), null],
    ['talk.mpeg', () => speak('mp3'), null],
    ['talk.mpga', () => speak('mp3'), null],
    ['talk.flac', () => speak('flac'), null],
    ['my talk.1.ogg', () => speak('opus'), null],
    ['silence.m4a', () => media('silence.m4a'), null],
    ['tone.mp4', () => media('tone-opus.mp4'), 1.94],
    ['tone.webm', () => media('tone.webm'), 1.92],
  ]
  test.each(files)('%s is read, and every timing fits its length', async (name, read, known) => {
    const bytes = await read()
    const length = known ?? (await parseBuffer(bytes, {}, { duration: true })).format.duration ?? 0
    const answer = await verbose(app, { file: fileOf(bytes, name), timestamps_granularity: 'character' })
    expect(Math.abs(answer.duration - length)).toBeLessThan(0.1)
    const characters = answer.words?.flatMap((word) => word.characters ?? []) ?? []
    for (const timed of [answer.segments, answer.words ?? [], characters]) {
      const times = timed.flatMap(({ start, end }) => [start, end])
      expect(times).toEqual(times.toSorted((a, b) => a - b))
      expect([times[0], times.at(-1)]).toEqual([0, answer.duration])
    }
    expect(answer.words?.map(({ word }) => word).join(' ')).toBe(answer.text)
    expect(answer.words?.map(({ characters }) => characters?.map(({ text }) => text).join('')).join(' ')).toBe(
      answer.text,
    )
  })

  const named: [string, () => Uint8Array | Promise<Uint8Array>][] = [
    ['talk', () => speak('wav')],
    ['talk', () => speak('mp3')],
    ['', () => speak('flac')],
    ['talk.mp3', () => speak('wav')],
    ['tone.m4a', () => media('tone.webm')],
    ['talk.aac', () => speak('mp3')],
    ['talk.constructor', () => speak('mp3')],
  ]
  test.each(named)('is recognized by its bytes, not by the name %p', async (name, read) => {
    const answer = await send(app, { file: fileOf(await read(), name) })
    expect({ status: answer.status, text: answer.text }).toMatchObject({ status: 200 })
  })

  const refused: [string, string, () => Uint8Array | Promise<Uint8Array>][] = [
    ['"talk.mp3" is empty', 'talk.mp3', () => new Uint8Array()],
    ['"talk.wav" contains no readable audio in its 3 bytes', 'talk.wav', () => Buffer.from('abc')],
    ['"talk.wav" contains no readable audio', 'talk.wav', async () => (await speak('wav')).subarray(0, 44)],
    [
      '"notes.flac" contains no readable audio',
      'notes.flac',
      () => Buffer.from('fLaC is what it begins with. '.repeat(99)),
    ],
    ['"talk.webm" is matroska, which is not supported', 'talk.webm', async () => asMatroska(await media('tone.webm'))],
  ]
  test.each(refused)('is rejected: %s', async (words, name, read) => {
    const answer = await send(app, { file: fileOf(await read(), name) })
    const error = errorOf(answer.text, 422)
    expect(error).toMatchObject({ param: 'file', code: 'invalid_file', type: 'invalid_request_error' })
    expect(error.message).toContain(words)
    expect(error.message).toEndWith('flac, mp3, mp4, mpeg, mpga, m4a, ogg, wav, webm')
    expect(answer.status).toBe(422)
  })
})

describe('invalid translation form', () => {
  const invalid: [object, string, string][] = [
    [{ file: undefined }, 'file', 'is required: it must be a file'],
    [{ file: 'talk.mp3' }, 'file', 'must be a file, got "talk.mp3"'],
    [{ model: undefined }, 'model', 'is required'],
    [{ model: '/whisper-1' }, 'model', "must be '<provider>/<model>'"],
    [{ temperature: '1.5' }, 'temperature', 'must be at most 1, got 1.5'],
    [{ temperature: '-0.1' }, 'temperature', 'must be at least 0'],
    [{ temperature: 'warm' }, 'temperature', 'must be a number, got "warm"'],
    [{ temperature: '' }, 'temperature', 'must be a number, got ""'],
    [{ num_speakers: '33' }, 'num_speakers', 'must be at most 32, got 33'],
    [{ num_speakers: '0' }, 'num_speakers', 'must be at least 1'],
    [{ num_speakers: '1.5' }, 'num_speakers', 'must be an integer, got 1.5'],
    [{ diarize: 'yes' }, 'diarize', 'must be a boolean, got "yes"'],
    [{ enable_logging: '0' }, 'enable_logging', 'must be a boolean, got 0'],
    [{ tag_audio_events: 'TRUE' }, 'tag_audio_events', 'must be a boolean, got "TRUE"'],
    [{ response_format: 'xml' }, 'response_format', '"json", "text", "srt", "verbose_json", "vtt", got "xml"'],
    [{ timestamps_granularity: 'segment' }, 'timestamps_granularity', '"none", "word", "character", got "segment"'],
    [{ retry: '{"count":2' }, 'retry', "must be one form field with a JSON object; this is not JSON: Expected '}'"],
    [{ retry: 'twice' }, 'retry', 'this is not JSON'],
    [{ retry: '' }, 'retry', 'this is not JSON'],
    [{ retry: '5' }, 'retry', 'must be an object, got 5'],
    [{ retry: { count: 6 } }, 'retry.count', 'must be at most 5, got 6'],
    [{ 'retry[count]': '2' }, 'retry', "must be one form field with a JSON object; got a field 'retry[count]'"],
    [{ 'fallbacks[][model]': WHISPER }, 'fallbacks', 'must be one form field with a JSON array'],
    [{ fallbacks: [{ model: 'x/' }] }, 'fallbacks[0].model', "must be '<provider>/<model>'"],
    [{ fallbacks: 'openai/whisper-1' }, 'fallbacks', 'this is not JSON'],
    [{ load_balancer: { type: 'weight_based', models: [] } }, 'load_balancer.models', 'at least 1 item'],
    [{ timeout: {} }, 'timeout.call_timeout', 'is required'],
    [{ svc: '{' }, 'svc', 'this is not JSON'],
    [{ svc: { retry: { count: 0 } } }, 'svc.retry.count', 'must be at least 1'],
    [{ metadata: { key: 5 } }, 'metadata.key', 'must be a string, got 5'],
    [{ identity: '[]' }, 'identity', 'must be an object'],
  ]
  test.each(invalid)('with %j is rejected for %s: %s', async (fields, param, words) => {
    const answer = await send(app, fields)
    const error = errorOf(answer.text, 422)
    expect([answer.status, error.type, error.param]).toEqual([422, 'invalid_request_error', param])
    expect(error.message).toContain(words)
    expect(await app.traceOf(answer)).toMatchObject({ status: 422, outcome: 'http_error', error })
  })

  test('is rejected with the configured name of the service options', async () => {
    const one = createTestApp({ namespace: 'acme' })
    const broken = errorOf((await send(one, { acme: '{' })).text, 422)
    expect([broken.param, broken.message.slice(0, 6)]).toEqual(['acme', "'acme'"])
    expect(errorOf((await send(one, { acme: { retry: { count: 9 } } })).text, 422).param).toBe('acme.retry.count')
    expect((await send(one, { acme: { name: 'ours' }, svc: 'not ours' })).status).toBe(200)
    await one.close()
  })

  test('is a 404 for an unknown provider', async () => {
    const error = errorOf((await send(app, { model: 'nobody/listens' })).text, 404)
    expect(error).toMatchObject({ code: 'model_not_found', param: 'model' })
  })

  test.each([
    ['application/json', '{}', 415, 'send multipart/form-data'],
    ['multipart/form-data', 'x', 422, 'is not valid multipart/form-data: '],
    ['multipart/form-data; boundary=b', 'x', 422, 'final boundary'],
    [
      'multipart/form-data; boundary=b',
      '--b\r\nContent-Disposition: form-data; name="model"\r\n\r\nx',
      422,
      'boundary',
    ],
    ['multipart/form-data; boundary=b', '--b--\r\n', 422, "'file' is required"],
  ])('of type %s with the body %j is a %i', async (type, body, status, words) => {
    const answer = await app.fetch(TRANSLATIONS, { method: 'POST', headers: { 'content-type': type }, body })
    expect(answer.status).toBe(status)
    expect(errorOf(answer.text, status).message).toContain(words)
  })

  test('is not one with repeated fields, unknown fields or JSON as a file', async () => {
    const form = formOf({ file: fileOf(await speak('wav'), 'a.wav'), model: 'x', __proto__x: '1', extra: '{' })
    form.append('model', WHISPER)
    form.append('retry', new Blob(['{"count":2}'], { type: 'application/json' }))
    const answer = await app.fetch(TRANSLATIONS, { method: 'POST', body: form })
    expect(answer.status).toBe(200)
    expect((await app.traceOf(answer)).request).toMatchObject({ model: WHISPER, extra: '{', retry: '{"count":2}' })
  })
})
