// Which differences between a recorded response and today's are changes of an API, and how severe they are.
import { describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { AnthropicEvent, AnthropicMessage } from '../../src/compat/anthropic/response-schema.ts'
import type { Cassette, RecordedAttempt } from '../../src/contract/core/cassette.ts'
import { CHANGES, changesBetween } from '../../src/drift/compare.ts'
import { driftExit, findDrift } from '../../src/drift/drift.ts'
import type { ResponseSchemas } from '../../src/drift/known-fields.ts'
import { shapeOf } from '../../src/drift/wire-shape.ts'
import { operationNamed } from '../../src/endpoints/index.ts'

const jsonSchema = (schema: z.ZodType) => z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' })
const operationSchemas = (name: string): ResponseSchemas => {
  const operation = operationNamed(name)
  if (!operation) throw new Error(name)
  return { whole: jsonSchema(operation.response), event: operation.chunk && jsonSchema(operation.chunk) }
}
const SCHEMAS = {
  chat: operationSchemas('chat.completions'),
  responses: operationSchemas('responses'),
  messages: { whole: jsonSchema(AnthropicMessage), event: jsonSchema(AnthropicEvent) },
}

const attempt = (text: string, contentType: string, status = 200): RecordedAttempt => ({
  response: {
    status,
    headers: [['content-type', contentType]],
    at: 1,
    frames: text === '' ? [] : [{ at: 1, bytes: new TextEncoder().encode(text) }],
  },
  end: 'complete',
  endedAt: 2,
})
const whole = (value: object) => attempt(JSON.stringify(value), 'application/json')
const events = (...all: (object | string)[]) =>
  attempt(
    all
      .map((one) => (typeof one === 'string' ? `data: ${one}\n\n` : `${nameOf(one)}data: ${JSON.stringify(one)}\n\n`))
      .join(''),
    'text/event-stream; charset=utf-8',
  )
const nameOf = (data: object) => ('type' in data ? `event: ${data.type}\n` : '')

const chat = (message: object = { role: 'assistant', content: 'Hi', refusal: null }, more: object = {}) => ({
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 1,
  model: 'gpt-4o',
  choices: [{ index: 0, message, finish_reason: 'stop' }],
  usage: { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 },
  ...more,
})
const chunk = (delta: object, finish: string | null = null, more: object = {}) => ({
  id: 'chatcmpl-1',
  object: 'chat.completion.chunk',
  created: 1,
  model: 'gpt-4o',
  choices: [{ index: 0, delta, finish_reason: finish }],
  ...more,
})
const USAGE_CHUNK = { ...chunk({}), choices: [], usage: { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 } }
const CHAT_STREAM = [
  chunk({ role: 'assistant', content: '' }),
  chunk({ content: 'Hi' }),
  chunk({}, 'stop'),
  USAGE_CHUNK,
  '[DONE]',
]
const message = (content: object[], more: object = {}) => ({
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'claude',
  content,
  stop_reason: 'end_turn',
  stop_sequence: null,
  usage: { input_tokens: 1, output_tokens: 2 },
  ...more,
})
const MESSAGE_STREAM = [
  { type: 'message_start', message: message([], { stop_reason: null }) },
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
  { type: 'ping' },
  { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hi' } },
  { type: 'content_block_stop', index: 0 },
  { type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: { output_tokens: 2 } },
  { type: 'message_stop' },
]
const responseEvent = (type: string, response: string) => ({
  type: `response.${type}`,
  sequence_number: 0,
  response: { id: 'resp_1', object: 'response', status: response, output: [] },
})
/** The events of items of the Responses API, by their types and what is done within each. */
const responseStream = (
  items: readonly [type: string, done?: string][],
  end: 'completed' | 'incomplete' = 'completed',
) =>
  events(
    responseEvent('created', 'in_progress'),
    ...items.flatMap(([type, done]) => [
      { type: 'response.output_item.added', sequence_number: 0, output_index: 0, item: { type, id: 'i' } },
      ...(done ? [`${done}.delta`, `${done}.done`] : []).map((part) => ({
        ...{ type: `response.${part}`, sequence_number: 0, item_id: 'i', output_index: 0 },
      })),
      { type: 'response.output_item.done', sequence_number: 0, output_index: 0, item: { type, id: 'i' } },
    ]),
    responseEvent(end, end),
  )
const without = (list: readonly (object | string)[], type: string) =>
  list.filter((one) => typeof one === 'string' || !('type' in one) || one.type !== type)

const found = (recorded: RecordedAttempt, live: RecordedAttempt, schemas: ResponseSchemas | undefined) =>
  changesBetween(shapeOf(recorded), shapeOf(live), schemas).map(
    ({ severity, kind, where }) => `${severity} ${kind} ${where}`,
  )

describe('drift: a response that a model may give is no change', () => {
  const tool = { id: 'call_1', type: 'function', function: { name: 'f', arguments: '{}' } }
  const cases: [string, RecordedAttempt, RecordedAttempt, ResponseSchemas][] = [
    ['another text', whole(chat()), whole(chat({ role: 'assistant', content: 'Other', refusal: null })), SCHEMAS.chat],
    [
      'a tool call instead of text',
      whole(chat()),
      whole({
        ...chat(),
        choices: [
          {
            index: 0,
            message: { role: 'assistant', content: null, refusal: null, tool_calls: [tool] },
            finish_reason: 'tool_calls',
          },
        ],
      }),
      SCHEMAS.chat,
    ],
    [
      'a longer stream',
      events(...CHAT_STREAM),
      events(CHAT_STREAM[0] ?? '', chunk({ content: 'a' }), chunk({ content: 'b' }), ...CHAT_STREAM.slice(2)),
      SCHEMAS.chat,
    ],
    [
      'a streamed tool call',
      events(...CHAT_STREAM),
      events(
        chunk({ role: 'assistant', content: null, tool_calls: [{ index: 0, ...tool }] }),
        chunk({ tool_calls: [{ index: 0, function: { arguments: '{}' } }] }),
        chunk({}, 'tool_calls'),
        USAGE_CHUNK,
        '[DONE]',
      ),
      SCHEMAS.chat,
    ],
    [
      'the token limit',
      events(...CHAT_STREAM),
      events(...CHAT_STREAM.slice(0, 2), chunk({}, 'length'), USAGE_CHUNK, '[DONE]'),
      SCHEMAS.chat,
    ],
    [
      'the token limit of the Responses API',
      responseStream([['message', 'output_text']]),
      responseStream([['message', 'output_text']], 'incomplete'),
      SCHEMAS.responses,
    ],
    [
      'a reasoning item before the message',
      responseStream([['message', 'output_text']]),
      responseStream([['reasoning'], ['message', 'output_text']]),
      SCHEMAS.responses,
    ],
    [
      'a function call instead of a message',
      responseStream([['message', 'output_text']]),
      responseStream([['function_call', 'function_call_arguments']]),
      SCHEMAS.responses,
    ],
    [
      'a block without content before the text',
      events(...MESSAGE_STREAM),
      events(
        ...MESSAGE_STREAM.slice(0, 1),
        { type: 'content_block_start', index: 0, content_block: { type: 'redacted_thinking', data: 'x' } },
        { type: 'content_block_stop', index: 0 },
        ...MESSAGE_STREAM.slice(1),
      ),
      SCHEMAS.messages,
    ],
    [
      'a thinking block before the text',
      whole(message([{ type: 'text', text: 'Hi' }])),
      whole(
        message([
          { type: 'thinking', thinking: 'Hm', signature: 'x' },
          { type: 'text', text: 'Hi' },
        ]),
      ),
      SCHEMAS.messages,
    ],
    ['no ping', events(...MESSAGE_STREAM), events(...without(MESSAGE_STREAM, 'ping')), SCHEMAS.messages],
    [
      'a tool use in a stream',
      events(...MESSAGE_STREAM),
      events(
        MESSAGE_STREAM[0] ?? '',
        {
          type: 'content_block_start',
          index: 0,
          content_block: { type: 'tool_use', id: 't', name: 'f', input: {}, caller: { type: 'direct' } },
        },
        { type: 'content_block_delta', index: 0, delta: { type: 'input_json_delta', partial_json: '{}' } },
        { type: 'content_block_stop', index: 0 },
        { type: 'message_delta', delta: { stop_reason: 'tool_use', stop_sequence: null }, usage: { output_tokens: 2 } },
        { type: 'message_stop' },
      ),
      SCHEMAS.messages,
    ],
  ]
  test.each(cases)('%s', (_, recorded, live, schemas) => {
    expect(found(recorded, live, schemas)).toEqual([])
    expect(found(recorded, recorded, schemas)).toEqual([])
  })
})

describe('drift: a change of the API has its severity', () => {
  const { usage: _, ...withoutUsage } = chat()
  const text = (recorded: RecordedAttempt, change: (text: string) => string) =>
    attempt(change(new TextDecoder().decode(recorded.response?.frames[0]?.bytes)), 'text/event-stream')
  const stream = events(...CHAT_STREAM)
  const messages = events(...MESSAGE_STREAM)
  const cases: [string, RecordedAttempt, RecordedAttempt, ResponseSchemas, string[]][] = [
    [
      'a required field is gone',
      whole(chat()),
      whole(chat({ content: 'Hi', refusal: null })),
      SCHEMAS.chat,
      ['error field-vanished choices[].message.role'],
    ],
    [
      'a number became a text',
      whole(chat()),
      whole(chat(undefined, { created: '1' })),
      SCHEMAS.chat,
      ['error type-changed created'],
    ],
    [
      'another object',
      whole(chat()),
      whole(chat(undefined, { object: 'chat.reply' })),
      SCHEMAS.chat,
      ['error object-changed object'],
    ],
    ['no token counts', whole(chat()), whole(withoutUsage), SCHEMAS.chat, ['error usage-vanished usage']],
    [
      'token counts in the last chunk',
      stream,
      events(...CHAT_STREAM.slice(0, 2), chunk({}, 'stop', { usage: USAGE_CHUNK.usage }), USAGE_CHUNK, '[DONE]'),
      SCHEMAS.chat,
      ['warning usage-moved usage'],
    ],
    [
      'token counts in the last chunk, and no chunk of their own',
      stream,
      events(...CHAT_STREAM.slice(0, 2), chunk({}, 'stop', { usage: USAGE_CHUNK.usage }), '[DONE]'),
      SCHEMAS.chat,
      ['warning usage-moved usage'],
    ],
    [
      'no token counts in a stream',
      stream,
      events(...CHAT_STREAM.slice(0, 3), '[DONE]'),
      SCHEMAS.chat,
      ['error usage-vanished usage chunk: usage'],
    ],
    [
      'no choices',
      whole(chat()),
      whole(chat(undefined, { choices: [] })),
      SCHEMAS.chat,
      ['error event-vanished all of choices'],
    ],
    [
      'no event with the stop reason',
      messages,
      events(...without(MESSAGE_STREAM, 'message_delta')),
      SCHEMAS.messages,
      ['error event-vanished message_delta', 'warning usage-moved usage'],
    ],
    [
      'no content of a message',
      messages,
      events(...MESSAGE_STREAM.filter(({ type }) => !type.startsWith('content_block'))),
      SCHEMAS.messages,
      ['error event-vanished all content'],
    ],
    [
      'the end of a block behind the end of the message',
      messages,
      events(...MESSAGE_STREAM.slice(0, 4), ...MESSAGE_STREAM.slice(4, 6).reverse(), ...MESSAGE_STREAM.slice(6)),
      SCHEMAS.messages,
      ['warning order-changed events'],
    ],
    [
      'content behind the finish reason',
      stream,
      events(...CHAT_STREAM.slice(0, 1), ...CHAT_STREAM.slice(1, 3).reverse(), ...CHAT_STREAM.slice(3)),
      SCHEMAS.chat,
      ['warning order-changed events'],
    ],
    ['no end mark', stream, events(...CHAT_STREAM.slice(0, -1)), SCHEMAS.chat, ['error event-vanished [DONE]']],
    [
      'no content',
      stream,
      events(CHAT_STREAM[0] ?? '', ...CHAT_STREAM.slice(2)),
      SCHEMAS.chat,
      ['error event-vanished all content'],
    ],
    [
      'an unknown finish reason',
      whole(chat()),
      whole({ ...chat(), choices: [{ index: 0, message: chat().choices[0]?.message, finish_reason: 'paused' }] }),
      SCHEMAS.chat,
      ['warning value-new choices[].finish_reason'],
    ],
    [
      'a new field',
      whole(chat()),
      whole(chat(undefined, { billing: { plan: 'a' } })),
      SCHEMAS.chat,
      ['info field-new billing'],
    ],
    [
      'an optional field is absent',
      whole(chat(undefined, { service_tier: 'default' })),
      whole(chat()),
      SCHEMAS.chat,
      ['info field-missing service_tier'],
    ],
    [
      'lines end with CRLF',
      stream,
      text(stream, (all) => all.replaceAll('\n', '\r\n')),
      SCHEMAS.chat,
      ['warning framing-changed line ends'],
    ],
    [
      'no blank line at the end',
      messages,
      text(messages, (all) => all.slice(0, -1)),
      SCHEMAS.messages,
      ['error event-vanished message_stop', 'warning framing-changed last event'],
    ],
    [
      'events without names',
      messages,
      text(messages, (all) => all.replaceAll(/^event: .*\n/gm, '')),
      SCHEMAS.messages,
      ['error names-changed event names'],
    ],
    [
      'comment lines',
      stream,
      text(stream, (all) => `: hello\n\n${all}`),
      SCHEMAS.chat,
      ['info comments-changed comments'],
    ],
    [
      'no message_start',
      messages,
      events(...MESSAGE_STREAM.slice(1)),
      SCHEMAS.messages,
      ['error event-vanished message_start', 'warning usage-moved usage'],
    ],
    [
      'an unknown event',
      messages,
      events(...MESSAGE_STREAM.slice(0, -1), { type: 'message_hint', text: 'x' }, { type: 'message_stop' }),
      SCHEMAS.messages,
      ['warning kind-new message_hint'],
    ],
    [
      'the last two events swapped',
      messages,
      events(...MESSAGE_STREAM.slice(0, -2), ...MESSAGE_STREAM.slice(-2).reverse()),
      SCHEMAS.messages,
      ['error boundary-changed last event'],
    ],
    [
      'an unknown kind of content',
      whole(message([{ type: 'text', text: 'Hi' }])),
      whole(message([{ type: 'hologram', data: 'x' }])),
      SCHEMAS.messages,
      ['warning kind-new content of type hologram'],
    ],
    ['another media type', stream, whole(chat()), SCHEMAS.chat, ['error content-type-changed content-type']],
  ]
  test.each(cases)('%s', (_, recorded, live, schemas, expected) => {
    expect(found(recorded, live, schemas)).toEqual(expected)
  })
})

describe('drift: what cannot be read is never clean', () => {
  const cassette = (recorded: RecordedAttempt, value: unknown = { model: 'gpt-4o' }): Cassette => ({
    file: 'a.yaml',
    header: {
      cassette: 1,
      session: 'a',
      state: 'complete',
      recorded: '2026-11-26',
      understudy: '1.0.0',
      volatile: [],
      redact: [],
    },
    interactions: [
      {
        turn: 1,
        line: 9,
        request: {
          provider: 'openai',
          operation: 'chat.completions',
          model: 'gpt-4o',
          path: '/v1/chat/completions',
          headers: {},
          body: { kind: 'json', value },
        },
        attempts: [recorded],
      },
    ],
  })
  const run = (recorded: RecordedAttempt, ask: () => Promise<RecordedAttempt>, value?: unknown) =>
    findDrift([cassette(recorded, value)], { ask, schemasOf: () => SCHEMAS.chat, refusal: () => undefined, jobs: 2 })

  const cases: [string, () => Promise<RecordedAttempt>, string, number][] = [
    ['the same response', async () => whole(chat()), 'same', 0],
    ['401', async () => attempt('{}', 'application/json', 401), 'not reachable', 5],
    ['429', async () => attempt('{}', 'application/json', 429), 'not reachable', 5],
    ['503', async () => attempt('{}', 'application/json', 503), 'not reachable', 5],
    ['404', async () => attempt('{}', 'application/json', 404), 'changed', 4],
    [
      'an error with status 200',
      async () => whole({ error: { message: 'overloaded', code: 502 } }),
      'not reachable',
      5,
    ],
    [
      'an error in a stream',
      async () => events(...CHAT_STREAM.slice(0, 2), { type: 'error', error: { message: 'overloaded' } }),
      'not reachable',
      5,
    ],
    [
      'a failed response in a stream',
      async () => events({ type: 'response.failed', response: { error: { message: 'x' } } }),
      'not reachable',
      5,
    ],
    ['an empty body', async () => attempt('', 'application/json'), 'not comparable', 5],
    ['HTML', async () => attempt('<html>', 'text/html'), 'not comparable', 5],
    ['a broken stream', async () => ({ ...events(...CHAT_STREAM), end: 'reset' }), 'not comparable', 5],
    ['a refused connection', () => Promise.reject(new Error('connection refused')), 'not reachable', 5],
    ['a new field', async () => whole(chat(undefined, { extra: 1 })), 'changed', 0],
    ['a missing field', async () => whole(chat({ content: 'Hi', refusal: null })), 'changed', 4],
  ]
  test.each(cases)('%s', async (_, ask, result, exit) => {
    const records = await run(whole(chat()), ask)
    expect(records.map((record) => record.result)).toEqual([result as 'same'])
    expect(driftExit(records)).toBe(exit)
  })

  test.each([
    ['text', { user: '<secret:email:1>' }, '<secret:email:1>'],
    ['number', { metadata: { card: -1111111111110002 } }, '-1111111111110002'],
    ['URL', { user: 'https://x.test/?token=%3Csecret%3Atoken%3A1%3E' }, '%3Csecret%3Atoken%3A1%3E'],
  ])('a request with a redacted %s is not asked', async (_, value, shown) => {
    let asked = 0
    const records = await run(
      whole(chat()),
      async () => {
        asked++
        return whole(chat())
      },
      value,
    )
    expect(records[0]?.result).toBe('not comparable')
    expect(records[0]?.reason).toContain(shown)
    expect([asked, driftExit(records)]).toEqual([0, 5])
  })

  test('a recorded failure is left out', async () => {
    for (const failure of [attempt('{}', 'application/json', 429), whole({ error: { message: 'overloaded' } })]) {
      const records = await run(failure, async () => whole(chat()))
      expect([records[0]?.result, driftExit(records)]).toEqual(['skipped', 0])
    }
  })
})

test('drift: the page lists every kind of change with its severity', () => {
  const page = readFileSync(join(import.meta.dir, '../../docs/drift.md'), 'utf8')
  const rows = [...page.matchAll(/^\| `([\w-]+)` \| (\w+) \| (.*) \|$/gm)].map(([, kind, severity, says]) => [
    kind,
    { severity, says },
  ])
  expect(Object.fromEntries(rows)).toEqual(CHANGES)
})
