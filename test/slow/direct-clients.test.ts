// Unchanged apps over real sockets: under each fault their SDKs end as with a provider that misbehaves the same way, and the bytes on the
// socket are those that the fault promises.
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAI } from '@ai-sdk/openai'
import Anthropic from '@anthropic-ai/sdk'
import { APICallError, generateText, jsonSchema, type LanguageModel, streamText, tool } from 'ai'
import OpenAI from 'openai'
import { listen } from '../../src/cli/run/listen.ts'
import { readConfig } from '../../src/config.ts'
import type { Exchange } from '../../src/contract/core/exchange.ts'
import { createUnderstudy } from '../../src/deps.ts'
import { faultKinds } from '../../src/faults/index.ts'
import { bytesIn } from '../../src/views/wire-text.ts'
import { ROWS, unharmed } from '../support/fault-rows.ts'
import { blocksOf } from '../support/faults.ts'
import { runs } from '../support/property.ts'
import { postRaw, type RawResponse, type StubResponse, startStub } from '../support/raw-http.ts'

const config = { ...readConfig({ clock: 'virtual', host: '127.0.0.1' }, {}), db: ':memory:', port: 0 }
const understudy = createUnderstudy(config, (error) => {
  throw error
})
let base = ''
let servers: Awaited<ReturnType<typeof listen>> = []
let stub: Awaited<ReturnType<typeof startStub>>
beforeAll(async () => {
  // The AI SDK would print each field that a model does not know.
  Object.assign(globalThis, { AI_SDK_LOG_WARNINGS: false })
  servers = await listen(config, understudy)
  base = `http://127.0.0.1:${servers[0]?.port}`
  stub = await startStub()
})
afterAll(async () => {
  stub.stop()
  await Promise.all(servers.map((server) => server.stop(true)))
  understudy.sessions.close()
})

const PROMPT = 'Grüße 👋 to you all'
const messages = [{ role: 'user' as const, content: PROMPT }]
const APIS = {
  chat: { path: '/v1/chat/completions', operation: 'chat.completions', body: { model: 'gpt-4o', messages } },
  responses: { path: '/v1/responses', operation: 'responses', body: { model: 'gpt-4o', input: PROMPT } },
  messages: {
    path: '/v1/messages',
    operation: 'messages',
    body: { model: 'claude-sonnet-4', max_tokens: 200, messages },
  },
} as const
/** As the AI SDK asks for it, since the length of what comes depends on it. */
const STREAMED_CHAT = { stream: true as const, stream_options: { include_usage: true } }
type Api = keyof typeof APIS
const apis = Object.keys(APIS) as Api[]

/** What an app has in the end: the text that came, and what it was told is wrong. */
interface Result {
  text: string
  error?: { name: string; status: number | undefined; message: string }
}

type Client = (url: string, stream: boolean, add: (text: string) => void) => Promise<void>
const SETTINGS = { apiKey: 'any', maxRetries: 0, timeout: 10_000 }
const ai =
  (model: (url: string) => LanguageModel): Client =>
  async (url, stream, add) => {
    const asked = { model: model(url), prompt: PROMPT, maxRetries: 0 }
    if (!stream) return add((await generateText(asked)).text)
    let failure: unknown
    const streamed = streamText({ ...asked, onError: ({ error }) => void (failure = error) })
    for await (const part of streamed.fullStream) {
      if (part.type === 'text-delta') add(part.text)
      if (part.type === 'error') failure = part.error
    }
    if (failure) throw failure
  }
/** The apps of each API: its own SDK, and the AI SDK. */
const CLIENTS: Record<Api, Record<string, Client>> = {
  chat: {
    async openai(url, stream, add) {
      const client = new OpenAI({ ...SETTINGS, baseURL: `${url}/v1` })
      const { body } = APIS.chat
      if (!stream) return add((await client.chat.completions.create({ ...body })).choices[0]?.message.content ?? '')
      for await (const { choices } of await client.chat.completions.create({ ...body, ...STREAMED_CHAT }))
        add(choices[0]?.delta.content ?? '')
    },
    'ai sdk': ai((url) => createOpenAI({ apiKey: 'any', baseURL: `${url}/v1` }).chat('gpt-4o')),
  },
  responses: {
    async openai(url, stream, add) {
      const client = new OpenAI({ ...SETTINGS, baseURL: `${url}/v1` })
      const { body } = APIS.responses
      if (!stream) return add((await client.responses.create(body)).output_text)
      for await (const event of await client.responses.create({ ...body, stream: true }))
        if (event.type === 'response.output_text.delta') add(event.delta)
    },
    'ai sdk': ai((url) => createOpenAI({ apiKey: 'any', baseURL: `${url}/v1` }).responses('gpt-4o')),
  },
  messages: {
    async anthropic(url, stream, add) {
      const client = new Anthropic({ ...SETTINGS, baseURL: url })
      const body = { ...APIS.messages.body, messages }
      const textOf = (content: Anthropic.ContentBlock[]) =>
        content.map((block) => (block.type === 'text' ? block.text : '')).join('')
      if (!stream) return add(textOf((await client.messages.create(body)).content))
      const streamed = client.messages.stream(body)
      streamed.on('text', add)
      await streamed.finalMessage()
    },
    'ai sdk': ai((url) => createAnthropic({ apiKey: 'any', baseURL: `${url}/v1` })('claude-sonnet-4')),
  },
}

async function resultOf(client: Client, url: string, stream: boolean): Promise<Result> {
  let text = ''
  try {
    await client(url, stream, (more) => void (text += more))
    return { text }
  } catch (error) {
    const { name, message } = error as Error
    const status = APICallError.isInstance(error) ? error.statusCode : (error as { status?: number }).status
    return { text, error: { name, status, message: passing(message) } }
  }
}

/** Without what differs from call to call. */
const passing = (text: string): string =>
  text
    .replace(/01JG[0-9A-Z]{22}/g, 'ULID')
    .replace(/req_[0-9a-f]+/g, 'req')
    .replace(/"(created|created_at|completed_at)":\d+/g, '"$1":0')
    .replace(/127\.0\.0\.1:\d+(\/s\/\w+)?/g, 'host')

const addresses = new Map<string | undefined, string>()
/** The address of a session in which the provider of every call has this fault. */
async function under(fault: object | undefined): Promise<string> {
  const key = JSON.stringify(fault)
  const known = addresses.get(key)
  if (known) return known
  const url = `${base}/s/s${addresses.size}`
  addresses.set(key, url)
  if (!fault) return url
  const scenario = { name: 'wire', rules: [{ name: 'the rule', fault }] }
  const answer = await fetch(`${url}/_understudy/scenario`, {
    method: 'PUT',
    body: JSON.stringify(scenario),
    headers: { 'content-type': 'application/json' },
  })
  expect(answer.status).toBe(200)
  return url
}
const bodyOf = (api: Api, stream: boolean) => ({
  ...APIS[api].body,
  ...(stream && (api === 'chat' ? STREAMED_CHAT : { stream: true })),
})
/** What comes of one call, and the address where each further call gets the same. */
interface Sent {
  url: string
  raw: RawResponse
}
const responses = new Map<string, Promise<Sent>>()
/** The bytes of a response; many tests read them. */
function sentOf(api: Api, stream: boolean, fault?: object): Promise<Sent> {
  const key = JSON.stringify([api, stream, fault])
  const cached = responses.get(key)
  if (cached) return cached
  const sent = (async () => {
    const url = await under(fault)
    const raw = await postRaw(`${url}${APIS[api].path}`, bodyOf(api, stream))
    await expectKept(url, raw, { path: APIS[api].path, body: bodyOf(api, stream) })
    return { url, raw }
  })()
  responses.set(key, sent)
  return sent
}
/** The trace has what was on the socket. */
async function expectKept(url: string, raw: RawResponse, { path, body }: { path: string; body: object }) {
  const json = async (at: string) => (await fetch(`${url}/_understudy/traces${at}`)).json()
  const [trace] = ((await json('?limit=1')) as { data: { id: string }[] }).data
  const { request, response, ended } = (await json(`/${trace?.id}/exchange`)) as Exchange
  const session = new URL(url).pathname
  expect(request).toMatchObject({ address: `${session}${path}`, body: { text: JSON.stringify(body) } })
  const sent = Buffer.concat((response?.body ?? []).map(bytesIn)).toString()
  expect([response?.status ?? 0, sent]).toEqual([raw.status, raw.body])
  for (const [name, value] of Object.entries(response?.headers ?? {}))
    expect([name, raw.headers.get(name)]).toEqual([name, value])
  const ends = raw.end === 'RST' ? ['reset'] : raw.broken ? ['closed', 'garbled'] : ['complete']
  expect(ends).toContain(ended as string)
}

/** Short forms of the examples of those that take time. */
const SHORT: Record<string, object> = {
  delay: { for: '20ms' },
  hang: { for: '60ms' },
  'stall-stream': { after_chunks: 4, for: '60ms', close: 'reset' },
  'slow-stream': { tokens_per_second: 2000 },
  'rate-limit': { requests: 0 },
}
interface Cell {
  api: Api
  stream: boolean
  fault: { type: string }
}
const kinds = faultKinds.filter(({ points }) => points.includes('provider'))
const cases = apis.flatMap((api) =>
  kinds.flatMap(({ type, example }) =>
    [false, true].map((stream) => {
      const fault = { type, ...(SHORT[type] ?? example) }
      const cell: Cell = { api, stream, fault }
      return [`${api}, ${stream ? 'streamed' : 'whole'}: ${type}`, cell] as const
    }),
  ),
)

/** What a provider that misbehaves so sends; undefined where the row says nothing of these bytes. */
function promised({ body }: RawResponse, type: string, api: Api, stream: boolean): string | undefined {
  const row = ROWS[type]?.[stream ? 'streamed' : 'whole']
  if (type === 'stall-stream') return stream ? blocksOf(body).slice(0, 4).join('') : body
  if (!row) return type === 'rate-limit' || type.includes('tool') || type === 'runaway' ? undefined : body
  if (api === 'messages' || type === 'stream-error' || type === 'plain-json-error-in-stream') return undefined
  if (type === 'missing-done' && api === 'responses')
    return blocksOf(body)
      .filter((block) => !/^event: response\.completed|\[DONE\]/.test(block))
      .join('')
  const wire = row.wire(body, APIS[api].operation)
  return typeof wire === 'string' ? wire : undefined
}

describe("direct fault at the client's socket", () => {
  test.each(cases.filter(([, { api }]) => api !== 'messages'))(
    'sends what it promises: %s',
    async (_, { api, stream, fault }) => {
      const { raw: healthy } = await sentOf(api, stream)
      const { raw: sent } = await sentOf(api, stream, fault)
      const expected = promised(healthy, fault.type, api, stream)
      if (expected !== undefined) expect(passing(sent.body)).toBe(passing(expected))
      const row = ROWS[fault.type]?.[stream ? 'streamed' : 'whole']
      expect(sent.broken).toBe(row?.breaks === true || (fault.type === 'stall-stream' && stream))
      if (row?.status && !row.breaks) expect(sent.status).toBe(row.status)
    },
  )
})

const rowOf = ({ fault: { type }, stream }: Cell) => ROWS[type]?.[stream ? 'streamed' : 'whole']
/** Whether a fault does nothing to a form of response. The rows are those of the examples: the short form of a rate limit leaves no request. */
const isUntouched = (cell: Cell) => rowOf(cell) === undefined && cell.fault.type !== 'rate-limit'
/** Whether all bytes come, at any time; a stall ends its stream in the short form. */
const isWhole = (cell: Cell) => isUntouched(cell) || (rowOf(cell) === unharmed && cell.fault.type !== 'stall-stream')
const shownOf = ({ status, headers, body, end, broken }: RawResponse) => [
  ...[status, headers.get('content-type'), passing(body), end, broken],
]

describe('app under a direct fault', () => {
  test.each(cases.filter(([, cell]) => isWhole(cell)))(
    'receives the bytes of a healthy provider: %s',
    async (_, { api, stream, fault }) => {
      const [healthy, sent] = [await sentOf(api, stream), await sentOf(api, stream, fault)]
      expect(shownOf(sent.raw)).toEqual(shownOf(healthy.raw))
    },
  )

  /** What an app has in the end of a provider's bytes: many faults end in the same ones. */
  const expectedResults = new Map<string, Result>()
  const compared = cases.filter(([, cell]) => !isUntouched(cell))
  test.each(compared)('ends as with a provider that misbehaves the same way: %s', async (_, cell) => {
    const { api, stream, fault } = cell
    const { url, raw: sent } = await sentOf(api, stream, fault)
    if (!isWhole(cell)) expect(shownOf(sent)).not.toEqual(shownOf((await sentOf(api, stream)).raw))
    const isStream = sent.headers.get('content-type')?.startsWith('text/event-stream') === true
    const answer: StubResponse = {
      status: sent.status,
      contentType: sent.headers.get('content-type') ?? '',
      pieces: (isStream ? blocksOf(sent.body) : [sent.body]).filter((piece) => piece !== ''),
      end: sent.end,
      broken: sent.broken,
      ...(fault.type === 'broken-framing' && { garbage: 'no chunk size\r\n' }),
    }
    stub.answer = sent.status === 0 && sent.end === 'FIN' ? null : answer
    for (const [name, client] of Object.entries(CLIENTS[api])) {
      const key = passing(JSON.stringify([api, stream, name, stub.answer]))
      const expected = expectedResults.get(key) ?? (await resultOf(client, stub.url, stream))
      expectedResults.set(key, expected)
      expect([name, await resultOf(client, url, stream)]).toEqual([name, expected])
    }
  })
})

const PARAMETERS = { type: 'object' as const, properties: { city: { type: 'string' as const } }, required: ['city'] }
const WEATHER = { name: 'get_weather', parameters: PARAMETERS }
/** The same calls with a tool that must be called. */
const FORCED = {
  chat: {
    ...APIS.chat.body,
    tools: [{ type: 'function' as const, function: WEATHER }],
    tool_choice: 'required' as const,
  },
  responses: {
    ...APIS.responses.body,
    tools: [{ type: 'function' as const, ...WEATHER, strict: false }],
    tool_choice: 'required' as const,
  },
  messages: {
    ...APIS.messages.body,
    messages,
    tools: [{ name: WEATHER.name, input_schema: PARAMETERS }],
    tool_choice: { type: 'any' as const },
  },
}
const aiTool =
  (model: (url: string) => LanguageModel): Client =>
  async (url, stream, add) => {
    const asked = {
      model: model(url),
      prompt: PROMPT,
      maxRetries: 0,
      tools: { get_weather: tool({ inputSchema: jsonSchema(PARAMETERS as never) }) },
      toolChoice: 'required' as const,
    }
    const shown = async (result: { toolCalls: unknown; finishReason: unknown; text: unknown }) =>
      add(JSON.stringify([await result.toolCalls, await result.finishReason, await result.text]))
    if (!stream) return shown(await generateText(asked))
    let failure: unknown
    const streamed = streamText({ ...asked, onError: ({ error }) => void (failure = error) })
    await streamed.consumeStream()
    if (failure) throw failure
    return shown(streamed)
  }
/** What each SDK makes of a response that calls tools, as JSON. */
const TOOL_CLIENTS: Record<Api, Record<string, Client>> = {
  chat: {
    async openai(url, stream, add) {
      const client = new OpenAI({ ...SETTINGS, baseURL: `${url}/v1` })
      const completions = client.chat.completions
      const whole = stream
        ? await completions.stream(FORCED.chat).finalChatCompletion()
        : await completions.create(FORCED.chat)
      add(JSON.stringify(whole.choices))
    },
    'ai sdk': aiTool((url) => createOpenAI({ apiKey: 'any', baseURL: `${url}/v1` }).chat('gpt-4o')),
  },
  responses: {
    async openai(url, stream, add) {
      const client = new OpenAI({ ...SETTINGS, baseURL: `${url}/v1` })
      const whole = stream
        ? await client.responses.stream(FORCED.responses).finalResponse()
        : await client.responses.create(FORCED.responses)
      add(JSON.stringify([whole.status, whole.incomplete_details, whole.output]))
    },
    'ai sdk': aiTool((url) => createOpenAI({ apiKey: 'any', baseURL: `${url}/v1` }).responses('gpt-4o')),
  },
  messages: {
    async anthropic(url, stream, add) {
      const client = new Anthropic({ ...SETTINGS, baseURL: url })
      const whole = stream
        ? await client.messages.stream(FORCED.messages).finalMessage()
        : await client.messages.create(FORCED.messages)
      add(JSON.stringify([whole.stop_reason, whole.content]))
    },
    'ai sdk': aiTool((url) => createAnthropic({ apiKey: 'any', baseURL: `${url}/v1` })('claude-sonnet-4')),
  },
}
const TOOL_FAULTS = [
  { type: 'tool-truncated' },
  { type: 'tool-truncated', finish: 'tool_calls' },
  { type: 'tool-duplicate' },
  { type: 'tool-duplicate', id: 'same' },
  ...['type', 'missing', 'json', 'shape', 'string', 'fenced'].map((as) => ({ type: 'tool-wrong-arguments', as })),
  { type: 'unknown-tool' },
  { type: 'unknown-finish-reason' },
  { type: 'content-filter', as: 'refusal' },
  { type: 'last-event-without-blank-line' },
  { type: 'plain-json-error-in-stream', after_chunks: 2 },
]
/** Ids of calls follow from the ids of responses; the AI SDK makes one up for a call whose id it has seen. */
const withoutCallIds = (text: string): string =>
  passing(text)
    .replace(/(call|toolu|fc|msg)_[0-9a-f]{16}/g, '$1')
    .replace(/"toolCallId":"\w{16}"/g, '"toolCallId":"made up"')
const toolCases = apis.flatMap((api) =>
  TOOL_FAULTS.flatMap((fault) =>
    [false, true].map(
      (stream) =>
        [`${api}, ${stream ? 'streamed' : 'whole'}: ${JSON.stringify(fault)}`, { api, stream, fault }] as const,
    ),
  ),
)

describe('app with tools under a direct fault', () => {
  test.each(toolCases)(
    'ends as with a provider that misbehaves the same way: %s',
    async (_, { api, stream, fault }) => {
      const url = await under(fault)
      const more = stream && (api === 'chat' ? STREAMED_CHAT : { stream: true })
      const sent = await postRaw(`${url}${APIS[api].path}`, { ...FORCED[api], ...more })
      const isStream = sent.headers.get('content-type')?.startsWith('text/event-stream') === true
      expect([sent.status, isStream]).toEqual([200, stream])
      stub.answer = {
        status: 200,
        contentType: sent.headers.get('content-type') ?? '',
        pieces: isStream ? blocksOf(sent.body) : [sent.body],
        end: sent.end,
        broken: sent.broken,
      }
      for (const [name, client] of Object.entries(TOOL_CLIENTS[api])) {
        const [expected, found] = [await resultOf(client, stub.url, stream), await resultOf(client, url, stream)]
        const shown = ({ text, error }: Result) => [
          withoutCallIds(text),
          error && { ...error, message: withoutCallIds(error.message) },
        ]
        expect([name, ...shown(found)]).toEqual([name, ...shown(expected)])
      }
    },
  )
})

const CUTS = [
  { type: 'cut-stream', after_chunks: 5 },
  { type: 'cut-stream', after_chunks: 9, close: 'abrupt' },
  { type: 'cut-stream', after_tokens: 3, close: 'clean' },
  { type: 'cut-stream', after_fraction: 0.5 },
  { type: 'truncate-body' },
  { type: 'broken-framing', after_chunks: 6 },
]
const equalRuns = CUTS.flatMap((fault) => apis.map((api) => [api, JSON.stringify(fault), fault] as const))
test.each(equalRuns)('direct fault, %s, %s: has equal results in equal runs', async (api, _, fault) => {
  const url = await under(fault)
  const [client] = Object.values(CLIENTS[api])
  if (!client) throw new Error('no client')
  const results = await Promise.all(Array.from({ length: runs(50) }, () => resultOf(client, url, true)))
  expect(new Set(results.map((result) => JSON.stringify(result))).size).toBe(1)
})
