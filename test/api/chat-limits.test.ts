// Limits of a chat call: fields that need another, sizes, the model's context, model ids, and the cost of a call.
import { afterAll, describe, expect, test } from 'bun:test'
import { createTestApp } from '../support/app.ts'
import { both, FIXTURES, refused, streamed, user, whole } from '../support/chat.ts'

const app = createTestApp({ fixtures: [FIXTURES] })
afterAll(app.close)

const pairs = (count: number, key = 'k', value = 'v') =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`${key}${index}`, value]))

describe('chat request at a limit', () => {
  const rows: [string, object][] = [
    ['16 pairs of metadata', { metadata: pairs(16) }],
    ['empty metadata', { metadata: {} }],
    ['a metadata key of 64 characters', { metadata: { ['k'.repeat(64)]: 'v' } }],
    ['a metadata value of 512 characters', { metadata: { key: 'v'.repeat(512) } }],
    ['four stop sequences', { stop: ['a#', 'b#', 'c#', 'd#'] }],
    ['the highest temperature', { temperature: 2, top_p: 1, top_k: 0 }],
    ['the lowest temperature', { temperature: 0, top_p: 0, top_k: 1_000 }],
    ['the highest penalties', { frequency_penalty: -2, presence_penalty: 2 }],
    ['audio options without audio', { audio: { voice: 'alloy', format: 'mp3' } }],
    ['the most retries', { retry: { count: 5, on_codes: [100, 599] } }],
    ['the longest cache lifetime', { cache: { type: 'exact_match', ttl: 259_200 } }],
    ['the shortest timeout', { timeout: { call_timeout: 1 } }],
  ]
  test.each(rows)('is accepted with %s', async (_, patch) => {
    await both(app, patch)
  })
})

describe('chat request beyond a limit', () => {
  const rows: [string, object, string, string][] = [
    ['17 pairs of metadata', { metadata: pairs(17) }, 'metadata', 'at most 16'],
    ['a long metadata key', { metadata: { ['k'.repeat(65)]: 'v' } }, `metadata.${'k'.repeat(65)}`, 'at most 64'],
    ['a long metadata value', { metadata: { key: 'v'.repeat(513) } }, 'metadata.key', 'at most 512'],
    ['five stop sequences', { stop: ['a', 'b', 'c', 'd', 'e'] }, 'stop', 'at most 4'],
    ['stream_options without stream', { stream_options: { include_usage: true } }, 'stream_options', "'stream'"],
    ['stream_options with stream: false', { stream: false, stream_options: {} }, 'stream_options', "'stream'"],
    ['a fractional top_k', { top_k: 1.5 }, 'top_k', 'an integer'],
    ['a fractional n', { n: 1.5 }, 'n', 'an integer'],
    [
      'usage as text',
      { stream: true, stream_options: { include_usage: 'yes' } },
      'stream_options.include_usage',
      'a boolean',
    ],
  ]
  test.each(rows)('is rejected with %s', async (_, patch, param, said) => {
    const error = await refused(app, patch)
    expect(error.param).toBe(param)
    expect(error.message).toContain(said)
  })

  test('names the first of several mistakes, and the trace keeps it', async () => {
    const answer = await app.post('/v2/router/chat/completions', { model: 'x', messages: [], n: 0 })
    const trace = await app.traceOf(answer)
    expect(trace).toMatchObject({
      status: 400,
      outcome: 'http_error',
      error: { code: 'invalid_value' },
      response: null,
    })
  })
})

describe('context window of a model', () => {
  const words = (count: number) => user('word '.repeat(count).trim())
  test.each([
    ['openai/gpt-4', 8_192],
    ['openai/gpt-3.5-turbo', 16_385],
  ])('of %s takes %p tokens and no more', async (model, context) => {
    // 3 open the answer, 3 and the role frame the message.
    const { completion } = await whole(app, { model, ...words(context - 7) })
    expect(completion.usage.prompt_tokens).toBe(context)
    for (const stream of [true, false]) {
      const error = await refused(app, { model, stream, ...words(context - 6) })
      expect(error.code).toBe('context_length_exceeded')
      for (const said of [`${context + 1}`, `${context}`]) expect(error.message).toContain(said)
    }
  })

  test('counts tools, tool calls and images', async () => {
    const model = 'openai/gpt-4'
    const long = 'word '.repeat(9_000)
    const calls = [{ id: 'a', type: 'function', function: { name: 'f', arguments: JSON.stringify({ long }) } }]
    const rows = [
      { tools: [{ function: { name: 'f', description: long } }] },
      {
        messages: [
          ...user('x').messages,
          { role: 'assistant', tool_calls: calls },
          { role: 'tool', tool_call_id: 'a', content: 'x' },
        ],
      },
      user(Array(50).fill({ type: 'image_url', image_url: { url: 'http://x.invalid/' } })),
      { ...user('{{long}}'), variables: { long } },
    ]
    for (const patch of rows) {
      expect(await refused(app, { model, ...patch })).toMatchObject({ code: 'context_length_exceeded' })
    }
  })

  test('is unlimited for an unlisted model', async () => {
    await whole(app, { model: 'openai/gpt-unheard-of', ...words(200_000) })
  })
})

describe('chat model', () => {
  test.each(['/gpt-4o', 'openai/', '', 'open ai/gpt', 'openai/gpt 4o'])(
    '%p is rejected as malformed',
    async (model) => {
      const error = await refused(app, { model })
      expect(error).toMatchObject({ param: 'model', code: 'invalid_value', type: 'invalid_request_error' })
      expect(error.message).toContain('<provider>/<model>')
      expect(error.message).toContain(JSON.stringify(model))
    },
  )

  test.each(['nobody/gpt-4o', 'OpenAI/gpt-4o', 'constructor/x'])(
    '%p is rejected for its unknown provider',
    async (model) => {
      const error = await refused(app, { model }, 404)
      expect(error).toMatchObject({ param: 'model', code: 'model_not_found', type: 'not_found_error' })
      for (const said of [JSON.stringify(model), 'openai', 'anthropic', 'google']) expect(error.message).toContain(said)
    },
  )

  test.each(['openai/gpt-4o', 'anthropic/claude-sonnet-4-20250514', 'openrouter/meta-llama/llama-3', 'ollama/any:8b'])(
    '%p is accepted and named in the response',
    async (model) => {
      const { completion, answer } = await whole(app, { model })
      expect(completion.model).toBe(model)
      expect(answer.headers.get('x-understudy-model')).toBe(model)
    },
  )
})

describe('trace of a chat call', () => {
  const rows: [string, number | null][] = [
    ['openai/gpt-4o', 2.5 + 5],
    ['openai/gpt-4o-2024-08-06', 2.5 + 5],
    ['openai/gpt-4o-mini', 0.45],
    ['anthropic/claude-opus-4', 15 + 37.5],
    ['openai/unheard-of', null],
  ]
  test.each(rows)('records that a million tokens of %s and half a million back cost %p', async (model, cost) => {
    const { completion, answer } = await whole(app, { model, ...user('counted') })
    expect(completion.usage).toMatchObject({ prompt_tokens: 1e6, completion_tokens: 5e5, total_tokens: 15e5 })
    expect((await app.traceOf(answer)).cost).toBe(cost as number)
  })

  test('records the cost of its usage, streamed too', async () => {
    const { completion, answer } = await whole(app, { n: 3 })
    const { prompt_tokens: input, completion_tokens: output } = completion.usage
    const cost = (input * 2.5 + output * 10) / 1e6
    for (const one of [answer, (await streamed(app, { n: 3 })).answer]) {
      expect((await app.traceOf(one)).cost).toBeCloseTo(cost, 10)
    }
  })

  test('keeps name, metadata, identity and thread, where the top level wins over svc', async () => {
    const fields = {
      name: 'greet',
      metadata: { tier: 'gold' },
      identity: { id: 'u1' },
      thread: { id: 't1', tags: ['a'] },
    }
    const svc = { name: 'other', identity: { id: 'u2' }, thread: { id: 't2' } }
    const top = await whole(app, { ...fields, svc })
    expect(await app.traceOf(top.answer)).toMatchObject(fields)
    const below = await whole(app, { svc })
    expect(await app.traceOf(below.answer)).toMatchObject({ ...svc, metadata: null })
    const contact = await whole(app, { svc: { contact: { id: 'u3' } } })
    expect(await app.traceOf(contact.answer)).toMatchObject({ identity: { id: 'u3' }, name: 'chat.completions' })
  })
})
