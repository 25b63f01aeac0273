// Provider data that no reference describes: what makes sense reaches the client byte for byte and the trace, and an invalid response is a
// failure that says so. None of it is an internal error, and none breaks a client's stream.
import { afterAll, afterEach, describe, expect, test } from 'bun:test'
import type { Answer } from '../support/app.ts'
import { errorOf } from '../support/errors.ts'
import { HELLO } from '../support/forward.ts'
import { dataIn, ODD_MODEL, oddProvider } from '../support/odd-provider.ts'
import { fileOf, formOf, speak } from '../support/translations.ts'

const odd = oddProvider()
afterEach(() => expect(odd.reported.splice(0)).toEqual([]))
afterAll(odd.close)

const CHAT = '/v2/router/chat/completions'
const COMPLETIONS = '/v2/router/completions'
const RESPONSES = '/v2/router/responses'
const traced = async (answer: Answer) => odd.app.traceOf(answer) as unknown as Promise<Record<string, unknown>>

const frame = { id: 'c1', object: 'chat.completion.chunk', created: 1, model: 'm' }
const chunk = (choice: object, more: object = {}) =>
  JSON.stringify({ ...frame, choices: [{ index: 0, finish_reason: null, ...choice }], ...more })
const said = (content: unknown) => chunk({ delta: { content } })
const STOP = chunk({ delta: {}, finish_reason: 'stop' })
const DONE = '[DONE]'
const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 }

describe('odd provider stream of chat chunks', () => {
  const filter = { content_filter_offsets: { check_offset: 0, start_offset: 0, end_offset: 9 } }
  const call = (piece: object) => chunk({ delta: { tool_calls: [piece] } })
  const begun = { index: 0, id: 'call_1', type: 'function', function: { name: 'f', arguments: '{"a":' } }
  const calls = [{ id: 'call_1', type: 'function', function: { name: 'f', arguments: '{"a":1}' } }]
  const rows: [string, string[], object][] = [
    ['a choice without a delta', [said('Hi'), chunk({ ...filter }), STOP], { content: 'Hi' }],
    ['delta: null', [said('Hi'), chunk({ delta: null }), STOP], { content: 'Hi' }],
    ['a delta that is a text', [said('Hi'), chunk({ delta: 'x' }), STOP], { content: 'Hi' }],
    ['a null choice', [said('Hi'), JSON.stringify({ ...frame, choices: [null] }), STOP], { content: 'Hi' }],
    ['no choices', [JSON.stringify({ ...frame, choices: [] }), said('Hi'), STOP], { content: 'Hi' }],
    ['usage without choices', [said('Hi'), STOP, JSON.stringify({ ...frame, usage })], { content: 'Hi' }],
    ['choices: null beside usage', [said('Hi'), STOP, JSON.stringify({ choices: null, usage })], { content: 'Hi' }],
    [
      'usage that is a text',
      [said('Hi'), chunk({ delta: {}, finish_reason: 'stop' }, { usage: 'many' })],
      { content: 'Hi' },
    ],
    ['content that is a number', [said('Hi'), said(5), STOP], { content: 'Hi' }],
    [
      'content in parts',
      [said([{ type: 'text', text: 'H' }]), said([{ type: 'text', text: 'i' }, null]), STOP],
      { content: 'Hi' },
    ],
    [
      'a choice without an index',
      [JSON.stringify({ choices: [{ delta: { content: 'Hi' }, finish_reason: 'stop' }] })],
      { content: 'Hi' },
    ],
    [
      'an index that is a text',
      [chunk({ index: '0', delta: { content: 'Hi' }, finish_reason: 'stop' })],
      { content: 'Hi' },
    ],
    [
      'an index that is too large',
      [chunk({ index: 4_294_967_290, delta: { content: 'Hi' }, finish_reason: 'stop' })],
      { content: 'Hi' },
    ],
    ['a negative index', [chunk({ index: -1, delta: { content: 'Hi' }, finish_reason: 'stop' })], { content: 'Hi' }],
    [
      'a call chunk without function',
      [call(begun), call({ index: 0 }), call({ index: 0, function: { arguments: '1}' } }), STOP],
      { tool_calls: calls },
    ],
    [
      'a call chunk with function: null',
      [call(begun), call({ index: 0, function: null }), call({ index: 0, function: { arguments: '1}' } }), STOP],
      { tool_calls: calls },
    ],
    [
      'arguments: null at the beginning',
      [
        call({ ...begun, function: { name: 'f', arguments: null } }),
        call({ index: 0, function: { arguments: '{"a":1}' } }),
        STOP,
      ],
      { tool_calls: calls },
    ],
    [
      'arguments that are an object',
      [call({ ...begun, function: { name: 'f', arguments: { a: 1 } } }), STOP],
      { tool_calls: calls },
    ],
    [
      'a call without an index',
      [call({ ...begun, index: undefined }), call({ function: { arguments: '1}' } }), STOP],
      { tool_calls: calls },
    ],
    [
      'calls without an index, distinguished by their ids',
      [
        call({ id: 'a', function: { name: 'f', arguments: '1' } }),
        call({ id: 'b', function: { name: 'g', arguments: '2' } }),
        STOP,
      ],
      {
        tool_calls: [
          { id: 'a', function: { name: 'f', arguments: '1' } },
          { id: 'b', function: { name: 'g', arguments: '2' } },
        ],
      },
    ],
    [
      'a call with an index that is too large',
      [call({ ...begun, index: 4_294_967_290, function: { name: 'f', arguments: '{"a":1}' } }), STOP],
      { tool_calls: calls },
    ],
    ['tool_calls: null', [chunk({ delta: { content: 'Hi', tool_calls: null } }), STOP], { content: 'Hi' }],
    ['error: null', [chunk({ delta: { content: 'Hi' } }, { error: null, message: 'fine' }), STOP], { content: 'Hi' }],
    ['error: {}', [chunk({ delta: { content: 'Hi' } }, { error: {} }), STOP], { content: 'Hi' }],
    ['a null call', [said('Hi'), call(null as unknown as object), STOP], { content: 'Hi' }],
    [
      'a custom call',
      [
        call({ index: 0, id: 'call_2', type: 'custom', custom: { name: 'sh', input: 'l' } }),
        call({ index: 0, custom: { input: 's' } }),
        STOP,
      ],
      { tool_calls: [{ id: 'call_2', type: 'custom', custom: { name: 'sh', input: 'ls' } }] },
    ],
    [
      'a legacy function call',
      [
        chunk({ delta: { function_call: { name: 'f', arguments: '{' } } }),
        chunk({ delta: { function_call: { arguments: '}' } } }),
        STOP,
      ],
      { function_call: { name: 'f', arguments: '{}' } },
    ],
    [
      'reasoning by another name',
      [chunk({ delta: { reasoning_content: 'Hm' } }), said('Hi'), STOP],
      { reasoning_content: 'Hm', content: 'Hi' },
    ],
    [
      'logprobs of another form',
      [
        chunk({ delta: { content: 'Hi' }, logprobs: { tokens: ['Hi'] } }),
        chunk({ delta: {}, logprobs: 'x', finish_reason: 'stop' }),
      ],
      { content: 'Hi' },
    ],
    [
      'a finish reason that is empty until the end',
      [chunk({ delta: { content: 'Hi' }, finish_reason: '' }), STOP],
      { content: 'Hi' },
    ],
    [
      'a whole message in place of a delta',
      [chunk({ message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' })],
      { content: 'Hi' },
    ],
    ['audio that is a text', [chunk({ delta: { content: 'Hi', audio: 'x' } }), STOP], { content: 'Hi' }],
    [
      'audio chunks without an id',
      [
        said('Hi'),
        chunk({ delta: { audio: { transcript: 'a' } } }),
        chunk({ delta: { audio: { data: null, transcript: 'b' } } }),
        STOP,
      ],
      { content: 'Hi', audio: { transcript: 'ab' } },
    ],
  ]
  test.each(rows)('with %s is passed on byte for byte and traced', async (_, data, message) => {
    const answer = await odd.stream(CHAT, { ...HELLO, stream_options: { include_usage: true } }, [...data, DONE])
    expect(dataIn(answer.text)).toEqual([...data, DONE])
    const trace = await traced(answer)
    expect(trace).toMatchObject({ outcome: 'succeeded', status: 200, error: null })
    expect(trace.response).toMatchObject({ choices: [{ finish_reason: 'stop', message }] })
    expect((trace.response as { choices: unknown[] }).choices).toHaveLength(1)
  })

  // A client has to send them back, or the provider takes no further turn.
  test('with redacted reasoning and call signatures has them in the trace and from the cache', async () => {
    const marked = { ...begun, function: { name: 'f', arguments: '{}' }, thought_signature: 'sig' }
    const data = [chunk({ delta: { redacted_reasoning: 'hidden' } }), call(marked), STOP, DONE]
    const cached = { ...HELLO, cache: { type: 'exact_match', ttl: 60 }, user: 'marks' }
    for (const found of ['miss', 'hit']) {
      const answer = await odd.stream(CHAT, cached, data)
      expect(answer.headers.get('x-understudy-cache')).toBe(found)
      expect((await traced(answer)).response).toMatchObject({
        choices: [
          { message: { redacted_reasoning: 'hidden', tool_calls: [{ id: 'call_1', thought_signature: 'sig' }] } },
        ],
      })
    }
  })

  test('keeps the frame of the first chunk that has one', async () => {
    const first = JSON.stringify({ id: '', object: '', created: 0, model: '', choices: [], prompt_filter_results: [] })
    const trace = await traced(await odd.stream(CHAT, HELLO, [first, said('Hi'), STOP, DONE]))
    expect(trace.response).toMatchObject({ id: 'c1', created: 1, model: 'm', object: 'chat.completion' })
  })

  const refused: [string, string[]][] = [
    ['not an object', ['5']],
    ['null', ['null']],
    ['a list', ['[]']],
    ['choices that are a text', ['{"choices":"none"}']],
    ['without choices and counts', ['{"id":"c1"}']],
  ]
  test.each(refused)(
    'with a chunk that is %s fails before anything was sent, and later in an event',
    async (_, data) => {
      const early = await odd.stream(CHAT, HELLO, [...data, said('Hi'), STOP, DONE])
      expect(errorOf(early.text, 502).code).toBe('provider_unreadable')
      const late = await odd.stream(CHAT, HELLO, [said('Hi'), ...data, STOP, DONE])
      const [first, last, ...rest] = dataIn(late.text)
      expect([first, rest]).toEqual([said('Hi'), []])
      expect(JSON.parse(last ?? '')).toMatchObject({ error: { code: 'provider_unreadable' } })
      for (const answer of [early, late]) expect(await traced(answer)).toMatchObject({ outcome: 'invalid_response' })
    },
  )
})

const whole = (choice: object, more: object = {}) => ({
  ...frame,
  object: 'chat.completion',
  choices: [{ index: 0, finish_reason: 'stop', ...choice }],
  usage,
  ...more,
})
const HI = { role: 'assistant', content: 'Hi' }
const CUSTOM = { id: 'call_3', type: 'custom', custom: { name: 'sh', input: 'ls' } }

describe('odd provider response', () => {
  const rows: [string, string, object, object][] = [
    ['a custom tool call', CHAT, HELLO, whole({ message: { ...HI, content: null, tool_calls: [CUSTOM] } })],
    [
      'a call without function',
      CHAT,
      HELLO,
      whole({ message: { ...HI, tool_calls: [{ id: 'c', type: 'function' }] } }),
    ],
    ['tool_calls of another type', CHAT, HELLO, whole({ message: { ...HI, tool_calls: 'x' } })],
    [
      'content in parts',
      CHAT,
      HELLO,
      whole({ message: { role: 'assistant', content: [{ type: 'text', text: 'Hi' }] } }),
    ],
    ['content that is a number', CHAT, HELLO, whole({ message: { ...HI, content: 5 } })],
    ['no content', CHAT, HELLO, whole({ message: { role: 'assistant' } })],
    ['a filtered choice without a message', CHAT, HELLO, whole({ finish_reason: 'content_filter' })],
    ['usage of another type', CHAT, HELLO, whole({ message: HI }, { usage: 'many' })],
    [
      'counts of another type',
      CHAT,
      HELLO,
      whole({ message: HI }, { usage: { prompt_tokens: 'many', completion_tokens: {} } }),
    ],
    ['no usage', CHAT, HELLO, whole({ message: HI }, { usage: null })],
    ['a text of completions', COMPLETIONS, { prompt: 'x' }, { choices: [{ text: 'Hi', finish_reason: 'stop' }] }],
    [
      'a completion without text',
      COMPLETIONS,
      { prompt: 'x' },
      { choices: [{ index: 0, finish_reason: 'content_filter' }] },
    ],
    ['a null item', RESPONSES, { input: 'x' }, { id: 'resp_9', status: 'completed', output: [null] }],
    ['an item without a type', RESPONSES, { input: 'x' }, { id: 'resp_9', status: 'completed', output: [{ id: 'i' }] }],
    [
      'a message without content',
      RESPONSES,
      { input: 'x' },
      { id: 'resp_9', status: 'completed', output: [{ type: 'message', role: 'assistant' }] },
    ],
    [
      'a message whose content is a text',
      RESPONSES,
      { input: 'x' },
      { id: 'resp_9', status: 'completed', output: [{ type: 'message', role: 'assistant', content: 'Hi' }] },
    ],
    [
      'a part of a new type',
      RESPONSES,
      { input: 'x' },
      {
        id: 'resp_9',
        status: 'completed',
        output: [{ type: 'message', role: 'assistant', content: [{ type: 'output_audio', data: 'x' }, null] }],
      },
    ],
    [
      'a call without arguments',
      RESPONSES,
      { input: 'x' },
      { id: 'resp_9', status: 'completed', output: [{ type: 'function_call', name: 'f', call_id: 'c' }] },
    ],
    ['no id', RESPONSES, { input: 'x' }, { status: 'completed', output: [] }],
    ['an id of another type', RESPONSES, { input: 'x' }, { id: 5, status: 'completed', output: [] }],
    [
      'images in a new form',
      '/v2/router/images/generations',
      { prompt: 'x' },
      { data: [{ url: 'https://x.test/1.png', seed: 3 }], timings: {} },
    ],
    ['error: {} beside a response', CHAT, HELLO, whole({ message: HI }, { error: {} })],
    ['a vector in a new form', '/v2/router/embeddings', { input: 'x' }, { data: [{ embedding: [1, 2], index: null }] }],
  ]
  test.each(rows)('with %s is passed on byte for byte, traced and cacheable', async (name, path, body, sent) => {
    const text = JSON.stringify(sent, null, 1)
    const asked = { ...body, metadata: { name }, user: name }
    const answer = await odd.whole(path, asked, text)
    expect([answer.status, answer.text]).toEqual([200, text])
    expect(await traced(answer)).toMatchObject({ outcome: 'succeeded', response: sent })
    const cache = { type: 'exact_match', ttl: 60 }
    for (const stream of path === CHAT || path === COMPLETIONS || path === RESPONSES
      ? [false, false, true]
      : [false, false]) {
      const again = await odd.whole(path, { ...asked, cache, ...(stream ? { stream } : {}) }, text)
      expect([again.status, again.headers.get('content-type')]).toEqual([
        200,
        expect.stringContaining(stream ? 'event-stream' : 'json'),
      ])
      if (stream) expect(dataIn(again.text).at(-1)).toBe('[DONE]')
      expect((await traced(again)).outcome).toBe('succeeded')
    }
  })

  test('with a custom tool call is checked by guardrails', async () => {
    const text = JSON.stringify(
      whole({
        message: {
          ...HI,
          content: null,
          tool_calls: [{ ...CUSTOM, custom: { name: 'sh', input: 'write to me@example.com' } }],
        },
      }),
    )
    const answer = await odd.whole(
      CHAT,
      { ...HELLO, guardrails: [{ id: 'svc_pii_detection', execute_on: 'output' }] },
      text,
    )
    expect(errorOf(answer.text, 422).code).toBe('guardrail_violation')
  })

  const refused: [string, string, object, unknown][] = [
    ['a value that is not an object', CHAT, HELLO, 5],
    ['null', CHAT, HELLO, null],
    ['a list', CHAT, HELLO, []],
    ['a choice without a message', CHAT, HELLO, whole({})],
    ['message: null', CHAT, HELLO, whole({ message: null })],
    ['a null choice', CHAT, HELLO, { choices: [null] }],
    ['no choices', CHAT, HELLO, { id: 'c1' }],
    ['choices of another type', CHAT, HELLO, { choices: { 0: {} } }],
    ['no finish reason', CHAT, HELLO, whole({ message: HI, finish_reason: null })],
    ['a null completion', COMPLETIONS, { prompt: 'x' }, { choices: [null] }],
    ['a completion without text', COMPLETIONS, { prompt: 'x' }, { choices: [{ index: 0, finish_reason: 'stop' }] }],
    ['no output', RESPONSES, { input: 'x' }, { id: 'resp_1', status: 'completed' }],
    ['output of another type', RESPONSES, { input: 'x' }, { id: 'resp_1', output: 'Hi' }],
    ['no images', '/v2/router/images/generations', { prompt: 'x' }, { created: 1 }],
    ['an invalid image', '/v2/router/images/generations', { prompt: 'x' }, { data: [{ url: 5 }] }],
    ['no vectors', '/v2/router/embeddings', { input: 'x' }, { data: [] }],
    ['an invalid vector', '/v2/router/embeddings', { input: 'x' }, { data: [{ index: 0, embedding: null }] }],
  ]
  test.each(refused)('with %s (%s) is invalid', async (_, path, body, sent) => {
    const answer = await odd.whole(path, body, JSON.stringify(sent))
    const { code, message } = errorOf(answer.text, 502)
    expect([code, message]).toEqual(['provider_unreadable', expect.stringContaining('is not a valid')])
    expect(await traced(answer)).toMatchObject({
      outcome: 'invalid_response',
      attempts: [{ outcome: 'invalid_response' }],
    })
  })
})

// What is nested deeper than a stack is high can be read, but neither shown in a trace nor written to a snapshot.
describe('deeply nested provider data', () => {
  const deep = `${'['.repeat(20_000)}${']'.repeat(20_000)}`
  const nested = (text: string) => text.replace('"Hi"', `"Hi","more":${deep}`)
  test.each<[string, () => Promise<Answer>]>([
    ['a response', () => odd.whole(CHAT, HELLO, nested(JSON.stringify(whole({ message: HI }))))],
    ['a chunk', () => odd.stream(CHAT, HELLO, [nested(said('Hi')), STOP, DONE])],
    ['an error', () => odd.whole(CHAT, HELLO, `{"error":${deep.replace('[]', '[{"a":1}]')}}`)],
  ])('is unreadable in %s', async (_, call) => {
    const answer = await call()
    const { code, message } = errorOf(answer.text, 502)
    expect([code, message]).toEqual(['provider_unreadable', expect.stringContaining('nested more than 500 levels')])
    expect(await traced(answer)).toMatchObject({ outcome: 'invalid_response', response: null })
  })
})

test('provider error outside of `error`: is reported with its own message', async () => {
  const quota = { code: 429, message: 'used up', status: 'RESOURCE_EXHAUSTED' }
  const listed = await odd.whole(CHAT, HELLO, JSON.stringify([{ error: quota }]))
  expect(errorOf(listed.text, 429)).toMatchObject({ code: 'RESOURCE_EXHAUSTED', message: 'used up (odd)' })
  const plain = await odd.whole(CHAT, HELLO, '{"detail":"come back later"}')
  expect(errorOf(plain.text, 502).message).toBe('come back later (odd)')
})

test('provider error of any length: leaves a short trace', async () => {
  const long = (length: number) => 'x'.repeat(length)
  const error = { message: long(3_000_000), code: long(100_000), param: long(100_000), type: long(100_000) }
  const answer = await odd.whole(CHAT, HELLO, JSON.stringify({ error }))
  expect(errorOf(answer.text, 502).code).toBe(long(500))
  expect(JSON.stringify(await traced(answer)).length).toBeLessThan(50_000)
})

describe('stream for a client that requested no usage', () => {
  const counts = (choices: unknown) => JSON.stringify({ ...frame, choices, usage })
  test.each([
    ['choices: []', []],
    ['choices: null', null],
    ['no choices', undefined],
  ])('hides usage in a chunk with %s', async (_, choices) => {
    const answer = await odd.stream(CHAT, HELLO, [said('Hi'), STOP, counts(choices), DONE])
    expect(dataIn(answer.text)).toEqual([said('Hi'), STOP, DONE])
    expect((await traced(answer)).usage).toEqual(usage)
  })

  test('hides usage whatever the case of the content type', async () => {
    const body = [said('Hi'), STOP, counts([]), DONE].map((data) => `data: ${data}\n\n`).join('')
    const answer = await odd.typed(CHAT, { ...HELLO, stream: true }, { text: body, type: 'Text/Event-Stream' })
    expect(dataIn(answer.text)).toEqual([said('Hi'), STOP, DONE])
  })
})

describe('response that cannot be decompressed', () => {
  test.each(['gzip', 'br'])('with %s is reported as a broken connection, without an address', async (encoding) => {
    const sent = { text: 'x'.repeat(99), type: 'application/json', headers: { 'content-encoding': encoding } }
    const answer = await odd.typed(CHAT, HELLO, sent)
    const { code, message } = errorOf(answer.text, 502)
    expect(code).toBe('provider_disconnected')
    expect(message).toBe('the connection to the provider failed: the response cannot be decompressed')
  })
})

test('HTML page in place of a transcript: is an invalid response', async () => {
  const form = formOf({ model: ODD_MODEL, response_format: 'text', file: fileOf(await speak('wav'), 'a.wav') })
  const page = { text: '<html>Bad gateway</html>', type: 'text/html' }
  const answer = await odd.typed('/v2/router/audio/translations', form, page)
  expect(errorOf(answer.text, 502).code).toBe('provider_unreadable')
})

test('image stream without an image: is incomplete', async () => {
  const data = ['image_generation.partial_image', 'image_generation.completed'].map((type) => JSON.stringify({ type }))
  const answer = await odd.stream('/v2/router/images/generations', { prompt: 'x' }, data)
  expect(errorOf(answer.text, 502).code).toBe('provider_disconnected')
})

describe('odd provider stream of completions', () => {
  const text = (choice: object) => JSON.stringify({ id: 'cmpl', choices: [choice] })
  const rows: [string, string[]][] = [
    ['no index', [text({ text: 'Hi', finish_reason: 'stop' })]],
    [
      'text: null at the end',
      [text({ index: 0, text: 'Hi', finish_reason: null }), text({ index: 0, text: null, finish_reason: 'stop' })],
    ],
    [
      'a null choice',
      [
        text({ index: 0, text: 'Hi' }),
        JSON.stringify({ choices: [null] }),
        text({ index: 0, text: '', finish_reason: 'stop' }),
      ],
    ],
    ['an index that is too large', [text({ index: 4_294_967_290, text: 'Hi', finish_reason: 'stop' })]],
    ['only counts', [text({ index: 0, text: 'Hi', finish_reason: 'stop' }), JSON.stringify({ usage })]],
  ]
  test.each(rows)('with %s is passed on byte for byte and traced', async (_, data) => {
    const answer = await odd.stream(COMPLETIONS, { prompt: 'x', stream_options: { include_usage: true } }, [
      ...data,
      DONE,
    ])
    expect(dataIn(answer.text)).toEqual([...data, DONE])
    const trace = await traced(answer)
    expect(trace).toMatchObject({
      outcome: 'succeeded',
      response: { choices: [{ text: 'Hi', finish_reason: 'stop' }] },
    })
  })
})

describe('odd provider stream of response events', () => {
  const event = (type: string, more: object = {}) => JSON.stringify({ type, ...more })
  const response = { id: 'resp_1', object: 'response', status: 'in_progress', output: [] }
  const CREATED = event('response.created', { response })
  const part = { type: 'output_text', text: '' }
  const ADDED = event('response.output_item.added', {
    output_index: 0,
    item: { type: 'message', id: 'm', content: [] },
  })
  const PART = event('response.content_part.added', { output_index: 0, content_index: 0, part })
  const delta = (more: object) => event('response.output_text.delta', { output_index: 0, content_index: 0, ...more })
  const HELLO_DELTA = delta({ delta: 'Hi' })
  const ended = { ...response, status: 'completed' }
  const COMPLETED = event('response.completed', { response: ended })
  const rows: [string, string[]][] = [
    ['a null response', [event('response.created', { response: null }), HELLO_DELTA]],
    ['a null item', [CREATED, event('response.output_item.added', { output_index: 0, item: null }), HELLO_DELTA]],
    [
      'an item without content',
      [CREATED, event('response.output_item.added', { output_index: 0, item: { type: 'message' } }), PART, HELLO_DELTA],
    ],
    [
      'an item of a new type',
      [CREATED, event('response.output_item.added', { output_index: 0, item: { type: 'new' } }), PART, HELLO_DELTA],
    ],
    [
      'an item without an index',
      [CREATED, event('response.output_item.added', { item: { type: 'message', content: [] } }), HELLO_DELTA],
    ],
    [
      'an item with an index that is too large',
      [
        CREATED,
        event('response.output_item.added', { output_index: 4_294_967_290, item: { type: 'message', content: [] } }),
        HELLO_DELTA,
      ],
    ],
    [
      'a null part',
      [CREATED, ADDED, event('response.content_part.added', { output_index: 0, part: null }), HELLO_DELTA],
    ],
    ['a delta that is an object', [CREATED, ADDED, PART, delta({ delta: {} }), HELLO_DELTA]],
    ['logprobs of another type', [CREATED, ADDED, PART, delta({ delta: 'Hi', logprobs: 5 })]],
    [
      'output of another type',
      [event('response.created', { response: { ...response, output: 'x' } }), ADDED, HELLO_DELTA],
    ],
    [
      'a null summary',
      [
        CREATED,
        event('response.output_item.added', { output_index: 0, item: { type: 'reasoning', summary: null } }),
        event('response.reasoning_summary_part.added', { output_index: 0, summary_index: 0, part: null }),
        event('response.reasoning_summary_text.delta', { output_index: 0, summary_index: 0, delta: 'Hm' }),
      ],
    ],
  ]
  test.each(rows)('with %s is passed on byte for byte and traced', async (_, data) => {
    const answer = await odd.stream(RESPONSES, { input: 'x' }, [...data, COMPLETED])
    expect(dataIn(answer.text)).toEqual([...data, COMPLETED, DONE])
    expect(await traced(answer)).toMatchObject({
      outcome: 'succeeded',
      response: { id: 'resp_1', status: 'completed' },
    })
    // What is left of it when it breaks off is traced as well.
    const cut = await odd.stream(RESPONSES, { input: 'x' }, data)
    expect(dataIn(cut.text).slice(0, data.length)).toEqual(data)
    expect(await traced(cut)).toMatchObject({ outcome: 'disconnected', error: { code: 'provider_disconnected' } })
  })

  test('with an odd final response is traced, whether it can be continued or not', async () => {
    for (const output of [
      null,
      'x',
      [null],
      [{ type: 'message' }],
      [{ type: 'message', role: 'assistant', content: [{}] }],
    ]) {
      const last = event('response.completed', { response: { ...ended, output } })
      const answer = await odd.stream(RESPONSES, { input: 'x' }, [CREATED, HELLO_DELTA, last])
      expect(dataIn(answer.text).at(-1)).toBe(DONE)
      expect(await traced(answer)).toMatchObject({ outcome: 'succeeded' })
    }
  })
})
