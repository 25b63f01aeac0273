// Fixtures that reply with an error, match request headers, apply to several operations, and use files.
import { afterAll, describe, expect, test } from 'bun:test'
import { renderSpeech } from '../../src/lib/media/speech.ts'
import { createTestApp, eventsOf } from '../support/app.ts'
import { CHAT, MODEL, user } from '../support/chat.ts'
import { openaiOf } from '../support/clients.ts'
import { folderWith } from '../support/fixtures.ts'
import { PATH } from '../support/responses.ts'

const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const busy = { status: 529, type: 'overloaded_error', message: 'Come back later.', headers: { 'Retry-After': '7' } }
const folder = folderWith({
  'fixtures/chat.completions/errors.yaml': [
    { match: { user: 'busy' }, reply: { error: busy } },
    { match: { user: 'bare' }, reply: { error: { status: 418 } } },
    { match: { user: 'once' }, replies: [{ error: { status: 503, message: 'Not yet.' } }, { content: 'Now.' }] },
    {
      match: { user: { regex: '^no (?<what>\\w+)$' } },
      reply: { error: { status: 400, message: 'No {{captures.what}}!' } },
    },
    {
      match: { user: 'who', header: { 'X-Tenant': { regex: '^(?<name>[a-z]+)-eu$' } } },
      reply: { content: 'eu {{captures.name}}' },
    },
    { match: { user: 'who', header: { 'x-tenant': 'us' } }, reply: { content: 'us' } },
    { match: { user: 'speak' }, reply: { content: 'Good evening.', audio: { file: '../sounds/evening.wav' } } },
    { match: { operation: ['chat.completions', 'completions'], user: 'both' }, reply: { content: 'for both' } },
  ],
  'fixtures/images.generations/pixel.yaml': {
    match: { user: 'pixel' },
    reply: { images: [{ file: '../../pixel.png' }] },
  },
  'fixtures/embeddings/down.yaml': { match: { user: 'down' }, reply: { error: { status: 500, message: 'Down.' } } },
})
await Bun.write(`${folder.path}/pixel.png`, Buffer.from(PIXEL, 'base64'))
const { bytes } = await renderSpeech({ text: 'evening', voice: 'nova', format: 'wav' })
await Bun.write(`${folder.path}/fixtures/sounds/evening.wav`, bytes)
const app = createTestApp({ fixtures: [`${folder.path}/fixtures`], on_unmatched: 'error' })
const openai = openaiOf(app)
afterAll(async () => {
  await app.close()
  folder.remove()
})
const ask = (content: string, more: object = {}, headers: Record<string, string> = {}) =>
  app.post(CHAT, { model: MODEL, ...user(content), ...more }, headers)

describe('fixture error', () => {
  test('counts as used when a client received it or a retry passed over it', async () => {
    const unused = async () => {
      const { fixtures } = (await app.fetch('/s/used/_understudy/verify')).json() as { fixtures: { unused: string[] } }
      return fixtures.unused
    }
    expect(await unused()).toContain('chat.completions/errors[0]')
    expect(await unused()).toContain('chat.completions/errors[1]')
    const session = { 'x-understudy-session': 'used' }
    await ask('busy', {}, session)
    await ask('bare', { fallbacks: [{ model: 'anthropic/claude-sonnet-4' }] }, session)
    expect(await unused()).not.toContain('chat.completions/errors[0]')
    expect(await unused()).not.toContain('chat.completions/errors[1]')
    expect(await unused()).toContain('chat.completions/errors[2]')
  })

  test('reaches the client with status, type, message and headers, whole and streamed', async () => {
    for (const stream of [false, true]) {
      const answer = await ask('busy', { stream })
      expect({ status: answer.status, retry: answer.headers.get('retry-after') }).toEqual({ status: 529, retry: '7' })
      expect(answer.json()).toMatchObject({
        code: '529',
        message: 'Come back later.',
        error: { type: 'overloaded_error', message: 'Come back later.' },
      })
      const trace = await app.traceOf(answer)
      const fixture = 'chat.completions/errors[0]'
      expect(trace).toMatchObject({ status: 529, fixture, attempts: [{ outcome: 'http_error', status: 529, fixture }] })
      expect(answer.headers.get('x-understudy-fixture')).toBe(fixture)
    }
  })

  test('needs only a status', async () => {
    const answer = await ask('bare')
    expect(answer.status).toBe(418)
    expect(answer.json()).toMatchObject({
      error: { message: expect.stringMatching(/\w/), type: 'invalid_request_error' },
    })
  })

  test('renders templates', async () => {
    expect((await ask('no luck')).json()).toMatchObject({ error: { message: 'No luck!' } })
  })

  test('leads to retries and fallbacks', async () => {
    const retried = await ask('once', { retry: { count: 1, on_codes: [503] } })
    expect(retried.json()).toMatchObject({ choices: [{ message: { content: 'Now.' } }] })
    expect(retried.headers.get('x-understudy-attempts')).toBe('2')
  })

  test('works for every operation', async () => {
    const answer = await app.post('/v2/router/embeddings', { model: 'openai/text-embedding-3-small', input: 'down' })
    expect({ status: answer.status, error: answer.json().error }).toMatchObject({
      status: 500,
      error: { message: 'Down.' },
    })
  })

  test('is thrown by the OpenAI SDK', async () => {
    const call = openai.chat.completions.create({ model: MODEL, messages: [{ role: 'user', content: 'busy' }] })
    expect(await call.catch((error) => [error.status, error.type])).toEqual([529, 'overloaded_error'])
  })
})

describe('fixture match on headers', () => {
  test.each([
    ['shop-eu', 'eu shop'],
    ['us', 'us'],
  ])('selects by x-tenant: %s', async (tenant, said) => {
    expect((await ask('who', {}, { 'x-tenant': tenant })).json()).toMatchObject({
      choices: [{ message: { content: said } }],
    })
  })

  test('names the header that differs in a near miss', async () => {
    const { error } = (await ask('who', {}, { 'x-tenant': 'mars' })).json() as { error: { message: string } }
    expect(error.message).toContain('header.x-tenant: expected "us", got "mars"')
  })
})

describe('fixture file reference', () => {
  test('returns an image', async () => {
    const answer = await app.post('/v2/router/images/generations', { model: 'openai/gpt-image-1', prompt: 'pixel' })
    expect(answer.json()).toMatchObject({ data: [{ b64_json: PIXEL }] })
  })

  test('returns audio, whole and streamed', async () => {
    const more = { modalities: ['text', 'audio'], audio: { voice: 'nova', format: 'wav' } }
    const wanted = Buffer.from(bytes).toString('base64')
    expect((await ask('speak', more)).json()).toMatchObject({
      choices: [{ message: { audio: { data: wanted, transcript: 'Good evening.' } } }],
    })
    const chunks = eventsOf((await ask('speak', { ...more, stream: true })).text) as {
      choices?: { delta: { audio?: { data?: string } } }[]
    }[]
    expect(chunks.map(({ choices }) => choices?.[0]?.delta.audio?.data ?? '').join('')).toBe(wanted)
  })

  test('supplies the text for an operation that returns text', async () => {
    expect((await ask('speak')).json()).toMatchObject({ choices: [{ message: { content: 'Good evening.' } }] })
  })
})

test('fixture for several operations: matches each of them and no other', async () => {
  expect((await ask('both')).json()).toMatchObject({ choices: [{ message: { content: 'for both' } }] })
  const completion = await app.post('/v2/router/completions', { model: MODEL, prompt: 'both' })
  expect(completion.json()).toMatchObject({ choices: [{ text: 'for both' }] })
  expect((await app.post(PATH, { model: MODEL, input: 'nothing' })).status).toBe(404)
})
