// The fields of a chat request, and the errors of invalid ones.
import { afterAll, describe, expect, test } from 'bun:test'
import { createTestApp } from '../support/app.ts'
import { errorOf } from '../support/errors.ts'

const CHAT = '/v2/router/chat/completions'
const body = { model: 'openai/gpt-4o', messages: [{ role: 'user', content: 'hello' }] }
const app = createTestApp()
afterAll(app.close)

describe('invalid field of a chat request', () => {
  const user = (content: unknown) => ({ messages: [{ role: 'user', content }] })
  const deep = (messages: unknown[]) => ({ messages: [...body.messages, ...messages] })
  const rows: [string, object, string | null, string[]][] = [
    ['a missing model', { model: undefined }, 'model', ['is required', 'a string']],
    ['a provider without a model', { model: 'openai/' }, 'model', ['<provider>/<model>', '"openai/"']],
    ['a model that is a number', { model: 4 }, 'model', ['must be a string', '4']],
    ['missing messages', { messages: undefined }, 'messages', ['is required', 'an array']],
    ['messages as text', { messages: 'hello' }, 'messages', ['an array', '"hello"']],
    [
      'an unknown role',
      { messages: [{ role: 'robot', content: 'x' }] },
      'messages[0].role',
      ['"robot"', '"system"', '"developer"', '"user"', '"assistant"', '"tool"'],
    ],
    ['a message without a role', { messages: [{ content: 'x' }] }, 'messages[0].role', ['"user"']],
    ['a message that is text', { messages: ['hello'] }, 'messages[0]', ['an object', '"hello"']],
    [
      'a user message without content',
      deep([{ role: 'user' }]),
      'messages[1].content',
      ['is required', 'a string', 'an array'],
    ],
    ['content that is a number', user(5), 'messages[0].content', ['a string', 'an array', '5']],
    [
      'a part of an unknown type',
      user([{ type: 'video' }]),
      'messages[0].content[0].type',
      ['"video"', '"image_url"', '"text"'],
    ],
    [
      'a text part without its text',
      user([{ type: 'text' }]),
      'messages[0].content[0].text',
      ['is required', 'a string'],
    ],
    [
      'an invalid image detail',
      user([{ type: 'image_url', image_url: { url: 'x', detail: 'huge' } }]),
      'messages[0].content[0].image_url.detail',
      ['"huge"', '"low"', '"high"', '"auto"'],
    ],
    [
      'an invalid audio format',
      user([{ type: 'input_audio', input_audio: { data: 'x', format: 'ogg' } }]),
      'messages[0].content[0].input_audio.format',
      ['"ogg"', '"mp3"', '"wav"'],
    ],
    [
      'a tool message without its call',
      deep([{ role: 'tool', content: 'x' }]),
      'messages[1].tool_call_id',
      ['is required'],
    ],
    [
      'a tool call without an id',
      deep([{ role: 'assistant', tool_calls: [{ function: {} }] }]),
      'messages[1].tool_calls[0].id',
      ['is required'],
    ],
    [
      'an invalid cache lifetime',
      user([{ type: 'text', text: 'x', cache_control: { type: 'ephemeral', ttl: '2h' } }]),
      'messages[0].content[0].cache_control.ttl',
      ['"2h"', '"5m"', '"1h"'],
    ],
    ['a temperature that is too high', { temperature: 3 }, 'temperature', ['at most 2', '3']],
    ['a temperature as text', { temperature: 'warm' }, 'temperature', ['a number', '"warm"']],
    ['a negative top_p', { top_p: -0.1 }, 'top_p', ['at least 0', '-0.1']],
    ['a top_p above 1', { top_p: 1.5 }, 'top_p', ['at most 1', '1.5']],
    ['a top_k below 0', { top_k: -1 }, 'top_k', ['at least 0', '-1']],
    ['a frequency penalty out of range', { frequency_penalty: 2.1 }, 'frequency_penalty', ['at most 2', '2.1']],
    ['a presence penalty out of range', { presence_penalty: -3 }, 'presence_penalty', ['at least -2', '-3']],
    ['max_tokens of 0', { max_tokens: 0 }, 'max_tokens', ['at least 1', '0']],
    ['half a token', { max_completion_tokens: 1.5 }, 'max_completion_tokens', ['an integer', '1.5']],
    ['n of 0', { n: 0 }, 'n', ['at least 1', '0']],
    ['a seed as text', { seed: 'x' }, 'seed', ['a number', '"x"']],
    ['half a seed', { seed: 1.5 }, 'seed', ['an integer', '1.5']],
    ['a stream flag as text', { stream: 'yes' }, 'stream', ['a boolean', '"yes"']],
    ['stream options without a stream', { stream_options: { include_usage: true } }, 'stream_options', ["'stream'"]],
    ['top_logprobs without logprobs', { top_logprobs: 3 }, 'top_logprobs', ["'logprobs'"]],
    ['too many top_logprobs', { logprobs: true, top_logprobs: 21 }, 'top_logprobs', ['at most 20', '21']],
    ['five stop sequences', { stop: ['a', 'b', 'c', 'd', 'e'] }, 'stop', ['at most 4']],
    ['a stop sequence that is a number', { stop: [1] }, 'stop[0]', ['a string', '1']],
    [
      'an invalid response format',
      { response_format: { type: 'xml' } },
      'response_format.type',
      ['"xml"', '"text"', '"json_object"', '"json_schema"'],
    ],
    [
      'a schema without a name',
      { response_format: { type: 'json_schema', json_schema: {} } },
      'response_format.json_schema.name',
      ['is required'],
    ],
    ['an invalid reasoning effort', { reasoning_effort: 'max' }, 'reasoning_effort', ['"max"', '"none"', '"xhigh"']],
    [
      'an invalid thinking type',
      { thinking: { type: 'on' } },
      'thinking.type',
      ['"on"', '"disabled"', '"adaptive"', '"enabled"'],
    ],
    ['thinking without a budget', { thinking: { type: 'enabled' } }, 'thinking.budget_tokens', ['is required']],
    ['a tool without a function', { tools: [{ type: 'function' }] }, 'tools[0].function', ['is required', 'an object']],
    [
      'a tool name with a space',
      { tools: [{ type: 'function', function: { name: 'a b' } }] },
      'tools[0].function.name',
      ['"a b"'],
    ],
    ['an invalid tool choice', { tool_choice: 'maybe' }, 'tool_choice', ['"maybe"', '"none"', '"auto"', '"required"']],
    ['an invalid modality', { modalities: ['video'] }, 'modalities[0]', ['"video"', '"text"', '"audio"']],
    ['audio without its options', { modalities: ['audio'] }, 'audio', ['is required']],
    ['an invalid voice', { audio: { voice: 'bob', format: 'mp3' } }, 'audio.voice', ['"bob"', '"alloy"']],
    ['metadata that is a list', { metadata: [] }, 'metadata', ['an object', '[]']],
    ['metadata that is a number', { metadata: { a: 1 } }, 'metadata.a', ['a string', '1']],
    [
      'too much metadata',
      { metadata: Object.fromEntries(Array.from({ length: 17 }, (_, index) => [`k${index}`, ''])) },
      'metadata',
      ['at most 16'],
    ],
    ['a long metadata value', { metadata: { a: 'x'.repeat(513) } }, 'metadata.a', ['at most 512']],
    ['a long metadata key', { metadata: { ['k'.repeat(65)]: 'x' } }, `metadata.${'k'.repeat(65)}`, ['at most 64']],
    ['too many retries', { retry: { count: 6 } }, 'retry.count', ['at most 5', '6']],
    ['an invalid retry status', { retry: { on_codes: [99] } }, 'retry.on_codes[0]', ['at least 100', '99']],
    ['a fallback without a model', { fallbacks: [{}] }, 'fallbacks[0].model', ['is required']],
    ['an invalid cache type', { cache: { type: 'fuzzy' } }, 'cache.type', ['"exact_match"', '"fuzzy"']],
    [
      'a cache lifetime that is too long',
      { cache: { type: 'exact_match', ttl: 259_201 } },
      'cache.ttl',
      ['at most 259200', '259201'],
    ],
    [
      'a weight of 0',
      { load_balancer: { type: 'weight_based', models: [{ model: 'openai/a', weight: 0 }] } },
      'load_balancer.models[0].weight',
      ['at least 0.001', '0'],
    ],
    ['a timeout of 0', { timeout: { call_timeout: 0 } }, 'timeout.call_timeout', ['at least 1', '0']],
    ['a guardrail without a stage', { guardrails: [{ id: 'x' }] }, 'guardrails[0].execute_on', ['"input"', '"output"']],
    ['an invalid service option', { svc: { retry: { count: 9 } } }, 'svc.retry.count', ['at most 5', '9']],
    ['variables that are a list', { variables: [] }, 'variables', ['an object', '[]']],
  ]
  test.each(rows)('is rejected and named: %s', async (_, patch, param, said) => {
    const answer = await app.post(CHAT, { ...body, ...patch })
    expect(answer.status).toBe(400)
    const error = errorOf(answer.text, 400)
    expect(error.param).toBe(param)
    expect(error.message).toStartWith(`'${param}' `)
    for (const part of said) expect(error.message).toContain(part)
  })

  test('shows a long value shortened in the message', async () => {
    const answer = await app.post(CHAT, { ...body, reasoning_effort: 'x'.repeat(5_000) })
    expect(errorOf(answer.text, 400).message.length).toBeLessThan(400)
  })

  test('returns 404 and the known providers for an unknown provider', async () => {
    const answer = await app.post(CHAT, { ...body, model: 'nobody/gpt' })
    const error = errorOf(answer.text, 404)
    expect(error).toMatchObject({ code: 'model_not_found', param: 'model' })
    expect(error.message).toContain('"nobody/gpt"')
    expect(error.message).toContain('openai')
  })
})

describe('valid chat request', () => {
  const rows: [string, object, Record<string, string>][] = [
    ['unknown fields', { ...body, user: 'u', extra: { deep: [1] } }, {}],
    ['unknown fields in a message', { ...body, messages: [{ role: 'user', content: 'hello', extra: 1 }] }, {}],
    [
      'null for everything optional',
      { ...body, temperature: null, tools: null, stop: null, metadata: null, svc: null },
      {},
    ],
    ['a charset', body, { 'content-type': 'application/json; charset=utf-8' }],
    ['a structured JSON type', body, { 'content-type': 'application/vnd.api+json' }],
    ['headers of a strict client', body, { accept: 'application/json;q=1, text/event-stream;q=0', cookie: '' }],
    ['a loopback name as host', body, { host: 'app.localhost:8633' }],
    ['the IPv6 loopback as host', body, { host: '[::1]:8633' }],
    ['capital letters in the host', body, { host: 'LOCALHOST:8633' }],
    ['capital letters in the scheme', body, { authorization: 'bearer any' }],
  ]
  test('is accepted with a 64-bit seed', async () => {
    const seeded = (seed: string) => JSON.stringify(body).replace('{', `{"seed":${seed},`)
    for (const seed of ['9223372036854775807', '-9223372036854775808', '9007199254740993', '-0'])
      expect((await app.post(CHAT, seeded(seed))).status).toBe(200)
    for (const seed of ['1.5', '1e400', '1e30']) expect((await app.post(CHAT, seeded(seed))).status).toBe(400)
  })

  test.each(rows)('is accepted with %s', async (_, request, headers) => {
    const answer = await app.post(CHAT, request, headers)
    expect(answer.text).toContain('"object":"chat.completion"')
    expect(answer.status).toBe(200)
    expect((await app.traceOf(answer)).request).toEqual(request)
  })
})
