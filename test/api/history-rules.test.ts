// Conversations that providers reject: each rule by its API, in the provider's words, on the client's wire.
import { afterAll, describe, expect, test } from 'bun:test'
import Anthropic, { APIError as AnthropicError } from '@anthropic-ai/sdk'
import OpenAI, { APIError } from 'openai'
import { PROVIDERS } from '../../src/providers/index.ts'
import type { HISTORY_PROBLEMS } from '../../src/providers/rules/rule.ts'
import { testApps } from '../support/app.ts'
import { fetchInto } from '../support/clients.ts'

const apps = testApps()
afterAll(() => apps.close())
const app = apps.appWith()
const local = { apiKey: 'any', maxRetries: 0, fetch: fetchInto(app) }
const openai = new OpenAI({ baseURL: 'http://localhost/v1', ...local })
const anthropic = new Anthropic({ baseURL: 'http://localhost', ...local })

type Json = Record<string, unknown>
const user = { role: 'user', content: 'What is the weather in Utrecht?' }
const call = (...ids: string[]) => ({
  role: 'assistant',
  content: null,
  tool_calls: ids.map((id) => ({ id, type: 'function', function: { name: 'get_weather', arguments: '{}' } })),
})
const result = (id: string | null) => ({ role: 'tool', tool_call_id: id, content: 'rain' })
const use = (...ids: string[]) => ({
  role: 'assistant',
  content: ids.map((id) => ({ type: 'tool_use', id, name: 'get_weather', input: {} })),
})
const resultBlock = (id: string) => ({ type: 'tool_result', tool_use_id: id, content: 'rain' })
const text = (said: string) => ({ type: 'text', text: said })
const turn = (role: string, ...content: object[]) => ({ role, content })
const functionCall = (id: string) => ({ type: 'function_call', call_id: id, name: 'get_weather', arguments: '{}' })
const output = (id: string) => ({ type: 'function_call_output', call_id: id, output: 'rain' })

interface Row {
  title: string
  rule: keyof typeof HISTORY_PROBLEMS
  models: readonly string[]
  /** Fields beside the model. */
  body: Json
  status?: number
  code?: string | null
  param?: string | null
  type?: string
  message: string
}

const OPENAI = ['gpt-4o', 'gpt-4.1', 'gpt-5', 'o3']
const unanswered = (...ids: string[]) =>
  `An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: ${ids.join(', ')}`

const chatRows: Row[] = [
  {
    title: 'a call before the next user message',
    rule: 'call-without-result',
    models: OPENAI,
    body: { messages: [user, call('call_1'), user] },
    param: 'messages.[2].role',
    message: unanswered('call_1'),
  },
  {
    title: 'one of two parallel calls',
    rule: 'call-without-result',
    models: OPENAI,
    body: { messages: [user, call('call_1', 'call_2'), result('call_2'), user] },
    param: 'messages.[3].role',
    message: unanswered('call_1'),
  },
  {
    title: 'a call at the end',
    rule: 'call-without-result',
    models: OPENAI,
    body: { messages: [user, call('call_1', 'call_2')] },
    param: 'messages.[1].role',
    message: unanswered('call_1', 'call_2'),
  },
  {
    title: 'a result after the user',
    rule: 'result-without-call',
    models: OPENAI,
    body: { messages: [user, result('call_1')] },
    param: 'messages.[1].role',
    message:
      "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
  },
  {
    title: 'a result of another call',
    rule: 'unknown-call-id',
    models: OPENAI,
    body: { messages: [user, call('call_1'), result('call_9'), result('call_1')] },
    param: 'messages.[2].tool_call_id',
    message: "Invalid parameter: 'tool_call_id' of 'call_9' not found in 'tool_calls' of previous message.",
  },
  {
    title: 'a result without an id',
    rule: 'missing-call-id',
    models: OPENAI,
    body: { messages: [user, call('call_1'), result(null), result('call_1')] },
    param: 'messages.[2].tool_call_id',
    message: "Missing parameter 'tool_call_id': messages with role 'tool' must have a 'tool_call_id'.",
  },
  {
    title: 'two results of a call',
    rule: 'duplicate-result',
    models: OPENAI,
    body: { messages: [user, call('call_1'), result('call_1'), result('call_1')] },
    param: 'messages.[3].tool_call_id',
    message: "Invalid parameter: Duplicate value for 'tool_call_id' of 'call_1', in messages[2] and messages[3].",
  },
  {
    title: 'an empty list of calls',
    rule: 'empty-calls',
    models: OPENAI,
    body: { messages: [user, { role: 'assistant', content: 'Rain.', tool_calls: [] }, user] },
    param: 'messages[1].tool_calls',
    code: 'empty_array',
    message:
      "Invalid 'messages[1].tool_calls': empty array. Expected an array with minimum length 1, but got an empty array instead.",
  },
  {
    title: 'an id of 41 characters',
    rule: 'long-call-id',
    models: ['gpt-4o-mini', 'gpt-5-mini'],
    body: { messages: [user, call('x'.repeat(41)), result('x'.repeat(41))] },
    param: 'messages[1].tool_calls[0].id',
    code: 'string_above_max_length',
    message:
      "Invalid 'messages[1].tool_calls[0].id': string too long. Expected a string with maximum length 40, but got a string with length 41 instead.",
  },
  {
    title: 'no messages',
    rule: 'empty-conversation',
    models: [...OPENAI, 'groq/llama-3.3-70b-versatile'],
    body: { messages: [] },
    param: 'messages',
    code: 'empty_array',
    message:
      "Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array instead.",
  },
  {
    title: 'a call without its result',
    rule: 'call-without-result',
    models: ['mistral/mistral-large-latest', 'mistral/mistral-small-latest'],
    body: { messages: [user, call('call_1', 'call_2'), result('call_2'), user] },
    param: null,
    message: 'Not the same number of function calls and responses',
  },
  {
    title: 'an assistant message at the end',
    rule: 'assistant-last',
    models: ['mistral/mistral-large-latest', 'mistral/devstral-small-latest'],
    body: { messages: [user, { role: 'assistant', content: 'It' }] },
    param: null,
    message: 'Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant',
  },
  {
    title: 'a call without its result',
    rule: 'call-without-result',
    models: ['deepseek/deepseek-chat', 'deepseek/deepseek-reasoner'],
    body: { messages: [user, call('call_1'), user] },
    param: null,
    code: 'invalid_request_error',
    message: unanswered('call_1').replace('. The', ', The'),
  },
  {
    title: 'a result without its call',
    rule: 'result-without-call',
    models: ['deepseek/deepseek-chat'],
    body: { messages: [user, result('call_1')] },
    param: null,
    code: 'invalid_request_error',
    message: "Messages with role 'tool' must be a response to a preceding message with 'tool_calls'",
  },
  {
    title: 'two user messages in a row',
    rule: 'roles-not-alternating',
    models: ['perplexity/sonar', 'perplexity/sonar-pro'],
    body: { messages: [user, user] },
    param: null,
    type: 'invalid_message',
    code: '400',
    message: 'After the (optional) system message(s), user and assistant roles should be alternating.',
  },
  {
    title: 'a call without its result',
    rule: 'call-without-result',
    models: ['google/gemini-2.5-pro', 'google/gemini-2.5-flash'],
    body: { messages: [user, call('call_1'), user] },
    param: null,
    type: 'INVALID_ARGUMENT',
    message:
      'Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.',
  },
]

const REASONING = ['gpt-5', 'o3', 'o4-mini']
const responsesRows: Row[] = [
  {
    title: 'a call without its output',
    rule: 'call-without-result',
    models: OPENAI,
    body: { input: [user, functionCall('call_1'), user] },
    message: 'No tool output found for function call call_1.',
  },
  {
    title: 'a custom call without its output',
    rule: 'call-without-result',
    models: OPENAI,
    body: { input: [user, { type: 'custom_tool_call', call_id: 'call_1', name: 'run', input: 'x' }] },
    message: 'No tool output found for custom tool call call_1.',
  },
  {
    title: 'an output without its call',
    rule: 'result-without-call',
    models: OPENAI,
    body: { input: [user, output('call_1')] },
    message: 'No tool call found for function call output with call_id call_1.',
  },
  {
    title: 'reasoning at the end',
    rule: 'reasoning-without-item',
    models: REASONING,
    body: { input: [user, { type: 'reasoning', id: 'rs_1', summary: [] }] },
    message: "Item 'rs_1' of type 'reasoning' was provided without its required following item.",
  },
  {
    title: 'reasoning before the next user message',
    rule: 'reasoning-without-item',
    models: REASONING,
    body: { input: [user, { type: 'reasoning', id: 'rs_1', summary: [] }, user] },
    message: "Item 'rs_1' of type 'reasoning' was provided without its required following item.",
  },
  {
    title: 'two items with one id',
    rule: 'duplicate-item',
    models: OPENAI,
    body: {
      input: [user, ...[1, 2].map(() => ({ type: 'message', id: 'msg_1', role: 'assistant', content: 'Rain.' })), user],
    },
    message: 'Duplicate item found with id msg_1. Remove duplicate items from your input and try again.',
  },
  {
    title: 'a reference to an item of nobody',
    rule: 'unknown-item',
    models: OPENAI,
    body: { input: [user, { type: 'item_reference', id: 'rs_68af4c0de2' }] },
    status: 404,
    message:
      "Item with id 'rs_68af4c0de2' not found. Items are not persisted when `store` is set to false. Try again with `store` set to true, or remove this item from your input.",
  },
  {
    title: 'a response of nobody',
    rule: 'unknown-response',
    models: [...OPENAI, 'groq/openai/gpt-oss-20b'],
    body: { input: 'Go on.', previous_response_id: 'resp_68af4c0de2' },
    code: 'previous_response_not_found',
    param: 'previous_response_id',
    message: "Previous response with id 'resp_68af4c0de2' not found.",
  },
]

const CLAUDE = ['claude-sonnet-4-20250514', 'claude-sonnet-4-5', 'claude-opus-4-6', 'claude-3-5-haiku-latest']
const PREFILLED = ['claude-sonnet-4-5', 'claude-3-5-haiku-latest']
const unansweredUse = (index: number, ...ids: string[]) =>
  `messages.${index}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${ids.join(', ')}. Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message.`
const thinking = { type: 'enabled', budget_tokens: 1024 }
const messagesRows: Row[] = [
  {
    title: 'a call before the next user message',
    rule: 'call-without-result',
    models: CLAUDE,
    body: { messages: [user, use('toolu_1', 'toolu_2'), turn('user', resultBlock('toolu_1'))] },
    message: unansweredUse(1, 'toolu_2'),
  },
  {
    title: 'text before the results',
    rule: 'result-after-content',
    models: CLAUDE,
    body: { messages: [user, use('toolu_1'), turn('user', text('Here.'), resultBlock('toolu_1'))] },
    message: unansweredUse(1, 'toolu_1'),
  },
  {
    title: 'a result without its call',
    rule: 'unknown-call-id',
    models: CLAUDE,
    body: { messages: [user, turn('assistant', text('One moment.')), turn('user', resultBlock('toolu_1'))] },
    message:
      'messages.2.content.0: unexpected `tool_use_id` found in `tool_result` blocks: toolu_1. Each `tool_result` block must have a corresponding `tool_use` block in the previous message.',
  },
  {
    title: 'two results of a call',
    rule: 'duplicate-result',
    models: CLAUDE,
    body: {
      messages: [user, use('toolu_1'), turn('user', resultBlock('toolu_1')), turn('user', resultBlock('toolu_1'))],
    },
    message:
      'messages.3.content.0: each tool_use must have a single result. Found multiple `tool_result` blocks with id: toolu_1',
  },
  {
    title: 'two calls with one id',
    rule: 'duplicate-call-id',
    models: CLAUDE,
    body: {
      messages: [
        ...[user, use('toolu_1'), turn('user', resultBlock('toolu_1'))],
        ...[use('toolu_1'), turn('user', resultBlock('toolu_1'))],
      ],
    },
    message: 'messages.3.content.0: `tool_use` ids must be unique',
  },
  {
    title: 'an id with a blank',
    rule: 'invalid-call-id',
    models: CLAUDE,
    body: { messages: [user, use('call 1'), turn('user', resultBlock('call 1'))] },
    message: "messages.1.content.0.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'",
  },
  {
    title: 'no thinking before the call of a continuation',
    rule: 'missing-thinking',
    models: ['claude-sonnet-4-20250514', 'claude-sonnet-4-5', 'claude-opus-4-5'],
    body: { max_tokens: 2048, thinking, messages: [user, use('toolu_1'), turn('user', resultBlock('toolu_1'))] },
    message:
      'messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`. When `thinking` is enabled, a final `assistant` message must start with a thinking block (preceeding the lastmost set of `tool_use` and `tool_result` blocks). We recommend you include thinking blocks from previous turns. To avoid this requirement, disable `thinking`. Please consult our documentation at https://docs.claude.com/en/docs/build-with-claude/extended-thinking',
  },
  {
    title: 'an assistant message at the end',
    rule: 'assistant-last',
    models: [
      'claude-opus-4-6',
      'claude-opus-4-7',
      'claude-opus-4-8',
      'claude-sonnet-4-6',
      'claude-sonnet-5',
      'claude-fable-5',
    ],
    body: { messages: [user, turn('assistant', text('It'))] },
    message: 'This model does not support assistant message prefill. The conversation must end with a user message.',
  },
  {
    title: 'whitespace at the end',
    rule: 'trailing-whitespace',
    models: PREFILLED,
    body: { messages: [user, { role: 'assistant', content: 'It is ' }] },
    message: 'messages: final assistant content cannot end with trailing whitespace',
  },
  {
    title: 'a message without content',
    rule: 'empty-message',
    models: CLAUDE,
    body: { messages: [user, { role: 'assistant', content: '' }, user] },
    message: 'messages.1: all messages must have non-empty content except for the optional final assistant message',
  },
  {
    title: 'an empty text',
    rule: 'empty-text',
    models: CLAUDE,
    body: { messages: [turn('user', text(''))] },
    message: 'messages: text content blocks must be non-empty',
  },
  {
    title: 'a blank text',
    rule: 'blank-text',
    models: CLAUDE,
    body: { messages: [turn('user', text(' \n'))] },
    message: 'messages: text content blocks must contain non-whitespace text',
  },
  {
    title: 'thinking at the end without thinking enabled',
    rule: 'thinking-not-enabled',
    models: ['claude-sonnet-4-5'],
    body: { messages: [user, turn('assistant', { type: 'thinking', thinking: 'Hm', signature: 'abc' }, text('It'))] },
    message:
      'messages.1.content.0: When thinking is disabled, an `assistant` message in the final position cannot contain `thinking`. To use thinking blocks, enable `thinking` in your request.',
  },
  {
    title: 'a system message',
    rule: 'system-message',
    models: ['claude-3-5-haiku-latest', 'claude-haiku-4-5', 'claude-sonnet-4-20250514'],
    body: { messages: [user, { role: 'system', content: 'Be brief.' }] },
    message:
      'messages: Unexpected role "system". The Messages API accepts a top-level `system` parameter, not "system" as an input message role.',
  },
  {
    title: 'a system message',
    rule: 'system-message',
    models: ['claude-opus-4-7'],
    body: { messages: [user, { role: 'system', content: 'Be brief.' }] },
    message: "role 'system' is not supported on this model",
  },
  {
    title: 'a system message at the beginning',
    rule: 'system-message-first',
    models: ['claude-opus-4-8', 'claude-opus-5'],
    body: { messages: [{ role: 'system', content: 'Be brief.' }, user] },
    message:
      "messages.0: use the top-level 'system' parameter for the initial system prompt; the directive-only form (content: [] with output_config) is accepted at any position",
  },
  {
    title: 'no messages',
    rule: 'empty-conversation',
    models: CLAUDE,
    body: { messages: [] },
    message: 'messages: at least one message is required',
  },
]

const apis = [
  { api: 'chat completions', path: '/v1/chat/completions', rows: chatRows, base: {} },
  { api: 'responses', path: '/v1/responses', rows: responsesRows, base: {} },
  { api: 'messages', path: '/v1/messages', rows: messagesRows, base: { max_tokens: 100 } },
] as const

/** What a client library makes of a rejection. */
const rejections = {
  'chat completions': (body: Json) => openai.chat.completions.create(body as never),
  responses: (body: Json) => openai.responses.create(body as never),
  messages: (body: Json) => anthropic.messages.create(body as never),
}

for (const { api, path, rows, base } of apis)
  describe(api, () => {
    for (const { title, rule, models, status = 400, ...row } of rows)
      for (const model of models) {
        const { type = 'invalid_request_error', code = null, param = 'input', message } = row
        const body = { model, ...base, ...row.body }

        test(`${model}: rejects ${title} on the wire when a stream is requested`, async () => {
          const answer = await app.post(path, { ...body, stream: true })
          expect(answer.status).toBe(status)
          const { request_id: id } = answer.json()
          expect(answer.json()).toEqual(
            api === 'messages'
              ? { type: 'error', error: { type, message }, request_id: id }
              : { error: { message, type, param, code } },
          )
          const trace = await app.traceOf(answer)
          expect(trace.attempts[0]?.history).toMatchObject({ rule, rejected: true, message })
        })

        test(`${model}: rejects ${title} for the SDK`, async () => {
          const error = await rejections[api](body).catch((thrown: unknown) => thrown)
          expect(error).toBeInstanceOf(api === 'messages' ? AnthropicError : APIError)
          expect(error).toMatchObject({ status, type })
          expect(error).toMatchObject(
            api === 'messages'
              ? { error: { error: { message } } }
              : { param, code, message: expect.stringContaining(message) },
          )
        })
      }
  })

describe('table of rejections', () => {
  test('rows: cover every rule of every provider', () => {
    const shown = new Set(apis.flatMap(({ rows }) => rows.map(({ rule }) => rule)))
    const all = new Set(PROVIDERS.flatMap(({ history }) => history.map(({ problem }) => problem)))
    // These need an earlier response of this server.
    const elsewhere: (typeof all extends Set<infer Name> ? Name : never)[] = [
      'changed-thinking',
      'item-without-reasoning',
      'changed-encrypted-content',
    ]
    expect([...all].filter((rule) => !shown.has(rule)).toSorted()).toEqual(elsewhere.toSorted())
  })

  test('rows: are more than 60 of API, rule and model', () => {
    expect(apis.flatMap(({ rows }) => rows.flatMap(({ models }) => models)).length).toBeGreaterThanOrEqual(60)
  })

  test('sources: are addresses', () => {
    for (const { history } of PROVIDERS) for (const { source } of history) expect(source).toMatch(/^https:\/\//)
  })
})
