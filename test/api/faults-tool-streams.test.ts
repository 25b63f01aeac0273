// Faults of tool calls and refusals in every API, whole and streamed: the bytes that a client receives directly and through the gateway.
import { afterAll, describe, expect, test } from 'bun:test'
import { readForwarding } from '../../src/config/providers.ts'
import { asObject, type JsonObject, objectsIn } from '../../src/lib/values.ts'
import { accepted } from '../support/accepted.ts'
import { createTestApp } from '../support/app.ts'
import { type Asking, blocksOf, type Fault, type Heard, type Rehearsal, rehearsal } from '../support/faults.ts'
import { at, startProvider } from '../support/forward.ts'

const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
const messages = [{ role: 'user', content: 'Hi' }]
const gatewayOption = { timeout: { call_timeout: 600_000 } }
const forced = (body: object): object => ({ ...body, tool_choice: 'required' })
const chatTools = [{ type: 'function', function: { name: 'get_weather', parameters } }]
const responseTools = [{ type: 'function', name: 'get_weather', parameters }]
const chat = { model: 'openai/gpt-4o', messages, tools: chatTools }
const response = { model: 'openai/gpt-4o', input: 'Hi', tools: responseTools }
const message = {
  model: 'claude-sonnet-4',
  max_tokens: 200,
  messages,
  tools: [{ name: 'get_weather', input_schema: parameters }],
  tool_choice: { type: 'any' },
}

/** Calls of the same tool in each API, straight to the provider and through the gateway. */
const CALLS: Record<string, { api: Api; path: string; body: object }> = {
  '/v1/chat/completions': { api: 'chat', path: '/v1/chat/completions', body: forced({ ...chat, model: 'gpt-4o' }) },
  '/v1/responses': { api: 'responses', path: '/v1/responses', body: forced({ ...response, model: 'gpt-4o' }) },
  '/v1/messages': { api: 'messages', path: '/v1/messages', body: message },
  '/v1/messages through the gateway': { api: 'messages', path: '/v1/messages', body: { ...message, ...gatewayOption } },
  '/v2/router/chat/completions': { api: 'chat', path: '/v2/router/chat/completions', body: forced(chat) },
  '/v2/router/responses': { api: 'responses', path: '/v2/router/responses', body: forced(response) },
}
type Api = 'chat' | 'responses' | 'messages'

/** What a client has of an answer in the end. */
interface Result {
  calls: { id: string; arguments: string }[]
  finish: unknown
  refusal?: unknown
}

const argumentsOf = (input: unknown): string => (typeof input === 'string' ? input : JSON.stringify(input))

const WHOLE: Record<Api, (body: JsonObject) => Result> = {
  chat(body) {
    const [choice] = objectsIn(body.choices)
    const said = asObject(choice?.message) ?? {}
    const calls = objectsIn(said.tool_calls).map(({ id, function: called }) => ({
      id: String(id),
      arguments: argumentsOf(asObject(called)?.arguments),
    }))
    return { calls, finish: choice?.finish_reason, ...(said.refusal != null && { refusal: said.refusal }) }
  },
  responses({ output, status, incomplete_details: details }) {
    const items = objectsIn(output)
    const calls = items
      .filter(({ type }) => type === 'function_call')
      .map(({ call_id, arguments: text }) => ({ id: String(call_id), arguments: String(text) }))
    const [part] = items.flatMap(({ content }) => objectsIn(content))
    return {
      calls,
      finish: asObject(details)?.reason ?? status,
      ...(part?.refusal != null && { refusal: part.refusal }),
    }
  },
  messages({ content, stop_reason: finish }) {
    const blocks = objectsIn(content)
    const calls = blocks
      .filter(({ type }) => type === 'tool_use')
      .map(({ id, input }) => ({ id: String(id), arguments: argumentsOf(input) }))
    const text = blocks.find(({ type }) => type === 'text')?.text
    return { calls, finish, ...(finish === 'refusal' && { refusal: text }) }
  },
}

const dataOf = (text: string): JsonObject[] =>
  blocksOf(text).flatMap((block) => {
    const json = /^data: (\{.*\})$/m.exec(block)?.[1]
    return json === undefined ? [] : [JSON.parse(json) as JsonObject]
  })

/** What the events add up to, read as the SDKs read them. */
const STREAMED: Record<Api, (text: string) => Result> = {
  chat(text) {
    const calls: Result['calls'] = []
    let finish: unknown
    let refusal = ''
    for (const { choices } of dataOf(text))
      for (const { delta, finish_reason } of objectsIn(choices)) {
        refusal += String(asObject(delta)?.refusal ?? '')
        finish = finish_reason ?? finish
        for (const { index, id, function: called } of objectsIn(asObject(delta)?.tool_calls)) {
          const call = (calls[Number(index)] ??= { id: String(id), arguments: '' })
          call.arguments += String(asObject(called)?.arguments ?? '')
        }
      }
    return { calls, finish, ...(refusal !== '' && { refusal }) }
  },
  responses(text) {
    const events = dataOf(text)
    expect(events.map(({ sequence_number }) => sequence_number)).toEqual(events.map((_, index) => index))
    const whole = WHOLE.responses(asObject(events.at(-1)?.response) ?? {})
    const items = events.filter(({ type }) => type === 'response.output_item.done')
    expect(items.map(({ output_index }) => output_index)).toEqual(items.map((_, index) => index))
    expect(items.map(({ item }) => item)).toEqual(objectsIn(asObject(events.at(-1)?.response)?.output))
    for (const { output_index, item } of items) {
      const pieces = events.filter((event) => event.output_index === output_index && event.type !== undefined)
      const deltas = pieces.flatMap(({ delta }) => (typeof delta === 'string' ? [delta] : [])).join('')
      const said = asObject(item)
      const [part] = objectsIn(said?.content)
      expect(deltas).toBe(String(said?.arguments ?? part?.refusal ?? part?.text))
    }
    return whole
  },
  messages(text) {
    const blocks: JsonObject[] = []
    let finish: unknown
    for (const { type, index, content_block: begun, delta } of dataOf(text)) {
      const piece = asObject(delta)
      if (type === 'content_block_start') blocks[Number(index)] = { ...asObject(begun), input: '' }
      const block = blocks[Number(index)]
      if (block && piece?.type === 'input_json_delta') block.input = String(block.input) + String(piece.partial_json)
      if (block && piece?.type === 'text_delta') block.text = String(block.text) + String(piece.text)
      if (type === 'message_delta') finish = piece?.stop_reason
    }
    return WHOLE.messages({ content: blocks, stop_reason: finish })
  },
}

const app = rehearsal()
afterAll(app.close)

/** A real provider with Anthropic's API, whose answers are passed on as they come. */
function passingProvider(answer: (stream: boolean) => string) {
  const upstream = startProvider(async (request) => {
    const { stream } = (await request.json()) as { stream?: boolean }
    const headers = { 'content-type': stream ? 'text/event-stream' : 'application/json' }
    return new Response(answer(stream === true), { headers })
  })
  const section = { value: { anthropic: at(`${upstream.url}/v1`) }, locationOf: () => '' }
  const passing = createTestApp({
    clock: 'real',
    forwarding: readForwarding({ section, backend: 'fixture', environment: {} }),
  })
  return {
    async ask(body: object, fault: Fault): Promise<string> {
      const scenario = { name: 'faults', rules: [{ name: 'rule', fault }] }
      const chosen = { method: 'PUT', body: JSON.stringify(scenario), headers: { 'content-type': 'application/json' } }
      await accepted(passing.fetch('/_understudy/scenario', chosen))
      return (await accepted(passing.post('/v1/messages', body))).text
    },
    close() {
      passing.close()
      upstream.stop()
    },
  }
}

/** The result of a call in one API, whole or streamed, with a fault at a place. */
async function resultOf(name: string, { stream, ...asking }: Asking & { stream: boolean }, backend: Rehearsal = app) {
  const call = CALLS[name]
  if (!call) throw new Error(`there is no call ${name}`)
  const { api, path, body } = call
  const heard: Heard = await backend.hear({ ...asking, stream, call: { path, body, streamed: { stream: true } } })
  expect([heard.status, heard.broken]).toEqual([200, undefined])
  if (asking.fault) expect(heard.rule).toMatchObject({ applied: 1, skipped: {} })
  return stream ? STREAMED[api](heard.text) : WHOLE[api](JSON.parse(heard.text) as JsonObject)
}

const forms = Object.keys(CALLS).flatMap((name) =>
  [false, true].flatMap((stream) =>
    (['provider', 'gateway'] as const).map((point) => [name, stream ? 'streamed' : 'whole', point] as const),
  ),
)
const apiOf = (name: string): Api => CALLS[name]?.api ?? 'chat'

/** Each API's own words for an end. */
const ENDS: Record<Api, Record<'length' | 'tool_calls' | 'refusal', string>> = {
  chat: { length: 'length', tool_calls: 'tool_calls', refusal: 'stop' },
  responses: { length: 'max_output_tokens', tool_calls: 'completed', refusal: 'completed' },
  messages: { length: 'max_tokens', tool_calls: 'tool_use', refusal: 'refusal' },
}
/** A whole Anthropic message has an object as input, so what is not JSON is left out of it. */
const asShown = (name: string, form: string, text: string, whole = '{}') =>
  apiOf(name) === 'messages' && form === 'whole' ? whole : text

describe.each(forms)('%s, %s, fault at the %s', (name, form, point) => {
  const stream = form === 'streamed'
  const of = (fault: Fault) => resultOf(name, { stream, point, fault })

  test.each(['length', 'tool_calls'] as const)(
    'tool-truncated: cuts the arguments and ends with %s',
    async (finish) => {
      const { calls, finish: end } = await of({ type: 'tool-truncated', finish })
      expect(calls.map((call) => call.arguments)).toEqual([asShown(name, form, '{"city"')])
      expect(end).toBe(ENDS[apiOf(name)][finish])
    },
  )

  test('tool-duplicate: sends the call twice, each with its id', async () => {
    const { calls, finish } = await of({ type: 'tool-duplicate' })
    expect(calls.map((call) => call.arguments)).toEqual(['{"city":"Oslo"}', '{"city":"Oslo"}'])
    expect(new Set(calls.map(({ id }) => id)).size).toBe(2)
    expect(finish).toBe(ENDS[apiOf(name)].tool_calls)
  })

  test('tool-duplicate: sends the call twice with one id when asked to', async () => {
    const { calls } = await of({ type: 'tool-duplicate', id: 'same' })
    expect(calls).toHaveLength(2)
    expect(calls[0]).toEqual(calls[1] as never)
  })

  test.each([
    ['type', '{"city":{"wrong":true}}', '{"city":{"wrong":true}}'],
    ['missing', '{}', '{}'],
    ['json', '{"', '{}'],
    ['shape', '[{"city":"Oslo"}]', '[{"city":"Oslo"}]'],
    ['string', '"{\\"city\\":\\"Oslo\\"}"', '{"city":"Oslo"}'],
    ['fenced', '```json\n{"city":"Oslo"}\n```', '{}'],
  ])('tool-wrong-arguments: writes them as %s', async (as, text, whole) => {
    const { calls } = await of({ type: 'tool-wrong-arguments', as })
    expect(calls.map((call) => call.arguments)).toEqual([asShown(name, form, text, whole)])
  })

  test('unknown-tool: keeps the arguments', async () => {
    const { calls } = await of({ type: 'unknown-tool' })
    expect(calls.map((call) => call.arguments)).toEqual(['{"city":"Oslo"}'])
  })

  test("content-filter: declines in the API's own form when asked to", async () => {
    const { calls, finish, refusal } = await of({ type: 'content-filter', as: 'refusal' })
    expect({ calls, finish, refusal }).toEqual({
      calls: [],
      finish: ENDS[apiOf(name)].refusal,
      refusal: "I'm sorry, but I can't help with that.",
    })
  })
})

/** Answers of a provider as others write them: two calls in pieces, one whole call in a chunk that also ends the answer. */
const chunk = (delta: object, finish: string | null = null) =>
  `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', model: 'm', choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`
const called = (index: number, id: string, text: string) => ({
  index,
  id,
  type: 'function',
  function: { name: 'get_weather', arguments: text },
})

describe('stream of a provider', () => {
  const streamed = async (sent: string, fault: Fault) => {
    const provider = rehearsal(() => sent)
    const result = await resultOf('/v1/chat/completions', { stream: true, fault }, provider)
    provider.close()
    return result
  }

  test('tool-truncated: cuts the last of two calls only', async () => {
    const text = `${chunk({ role: 'assistant', content: 'One moment.' })}${chunk({ tool_calls: [called(0, 'a', '{"city":')] })}${chunk({ tool_calls: [{ index: 0, function: { arguments: '"Oslo"}' } }] })}${chunk({ tool_calls: [called(1, 'b', '{"city":"Rome"}')] })}${chunk({}, 'tool_calls')}data: [DONE]\n\n`
    const { calls, finish } = await streamed(text, { type: 'tool-truncated' })
    expect(calls).toEqual([
      { id: 'a', arguments: '{"city":"Oslo"}' },
      { id: 'b', arguments: '{"city"' },
    ])
    expect(finish).toBe('length')
  })

  test('tool-duplicate: repeats a call that comes whole in the last chunk', async () => {
    const text = `${chunk({ role: 'assistant', content: null, tool_calls: [called(0, 'a', '{"city":"Oslo"}')] }, 'tool_calls')}data: [DONE]\n\n`
    const { calls, finish } = await streamed(text, { type: 'tool-duplicate', id: 'same' })
    expect(calls).toEqual([
      { id: 'a', arguments: '{"city":"Oslo"}' },
      { id: 'a', arguments: '{"city":"Oslo"}' },
    ])
    expect(finish).toBe('tool_calls')
  })
})

test.each(['/v1/responses', '/v1/chat/completions', '/v1/messages'])(
  'tool-duplicate: keeps the order of two calls in a stream of %s',
  async (name) => {
    const put = (fixtures: object[]) =>
      accepted(
        app.app.fetch('/s/rehearsal/_understudy/fixtures', {
          method: 'PUT',
          body: JSON.stringify(fixtures),
          headers: { 'content-type': 'application/json' },
        }),
      )
    const tool_calls = ['Oslo', 'Rome'].map((city) => ({ name: 'get_weather', arguments: { city } }))
    const operation = apiOf(name) === 'responses' ? 'responses' : 'chat.completions'
    await put([{ match: { operation }, reply: { content: 'One moment.', tool_calls } }])
    const { calls } = await resultOf(name, { stream: true, fault: { type: 'tool-duplicate' } })
    await put([])
    expect(calls.map((call) => call.arguments)).toEqual(
      ['Oslo', 'Oslo', 'Rome', 'Rome'].map((city) => JSON.stringify({ city })),
    )
  },
)

describe("message of Anthropic's own API, as a provider sends it", () => {
  const event = (type: string, more: object) => `event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`
  const started = {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'm',
    content: [],
    stop_reason: null,
    usage: {},
  }
  const use = (id: string, input: object = {}) => ({ type: 'tool_use', id, name: 'get_weather', input })
  const block = (index: number, content_block: object, ...deltas: object[]) =>
    [
      event('content_block_start', { index, content_block }),
      ...deltas.map((delta) => event('content_block_delta', { index, delta })),
      event('content_block_stop', { index }),
    ].join('')
  const json = (partial_json: string) => ({ type: 'input_json_delta', partial_json })
  const streamed = [
    event('message_start', { message: started }),
    block(0, { type: 'text', text: '' }, { type: 'text_delta', text: 'One moment.' }),
    block(1, use('toolu_a'), json('{"city":'), json('"Oslo"}')),
    block(2, use('toolu_b'), json(''), json('{"city":"Rome"}')),
    event('message_delta', { delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 9 } }),
    event('message_stop', {}),
  ].join('')
  const whole = JSON.stringify({
    ...started,
    content: [
      { type: 'text', text: 'One moment.' },
      use('toolu_a', { city: 'Oslo' }),
      use('toolu_b', { city: 'Rome' }),
    ],
    stop_reason: 'tool_use',
  })
  const OSLO = { id: 'toolu_a', arguments: '{"city":"Oslo"}' }
  const ROME = { id: 'toolu_b', arguments: '{"city":"Rome"}' }

  const rows: [Fault, { whole: Result; streamed: Result }][] = [
    [
      { type: 'tool-truncated' },
      {
        whole: { calls: [OSLO, { id: 'toolu_b', arguments: '{}' }], finish: 'max_tokens' },
        streamed: { calls: [OSLO, { id: 'toolu_b', arguments: '{"city"' }], finish: 'max_tokens' },
      },
    ],
    [
      { type: 'tool-duplicate', id: 'same' },
      {
        whole: { calls: [OSLO, OSLO, ROME, ROME], finish: 'tool_use' },
        streamed: { calls: [OSLO, OSLO, ROME, ROME], finish: 'tool_use' },
      },
    ],
    [
      { type: 'unknown-finish-reason' },
      { whole: { calls: [OSLO, ROME], finish: 'unknown' }, streamed: { calls: [OSLO, ROME], finish: 'unknown' } },
    ],
    [
      { type: 'content-filter', as: 'refusal' },
      {
        whole: { calls: [], finish: 'refusal', refusal: "I'm sorry, but I can't help with that." },
        streamed: { calls: [], finish: 'refusal', refusal: "I'm sorry, but I can't help with that." },
      },
    ],
    [
      { type: 'content-filter', as: 'finish' },
      {
        whole: { calls: [], finish: 'refusal', refusal: undefined },
        streamed: { calls: [], finish: 'refusal', refusal: undefined },
      },
    ],
  ]
  test.each(rows)('%j: acts on it as it came, whole and streamed', async (fault, expected) => {
    const provider = passingProvider((stream) => (stream ? streamed : whole))
    const of = async (stream: boolean) => {
      const text = await provider.ask({ ...message, stream }, fault)
      return stream ? STREAMED.messages(text) : WHOLE.messages(JSON.parse(text) as JsonObject)
    }
    expect({ whole: await of(false), streamed: await of(true) }).toEqual(expected)
    const text = await provider.ask({ ...message, stream: true }, fault)
    expect(text).toEndWith('event: message_stop\ndata: {"type":"message_stop"}\n\n')
    const indexes = dataOf(text).flatMap(({ type, index }) => (type === 'content_block_start' ? [index] : []))
    expect(indexes).toEqual(indexes.map((_, index) => index))
    provider.close()
  })
})

test('context-length: lets inputs through that are within its limit, so that a shortened conversation succeeds', async () => {
  const fault = { type: 'context-length', limit: 200 }
  const ask = (api: string, text: string) => {
    const { path = '', body } = CALLS[api] ?? {}
    const asked = {
      ...body,
      ...('input' in (body ?? {}) ? { input: text } : { messages: [{ role: 'user', content: text }] }),
    }
    return app.hear({ fault, stream: false, call: { path, body: asked, streamed: {} } })
  }
  for (const api of Object.keys(CALLS)) {
    const long = await ask(api, 'word '.repeat(400))
    expect([api, long.status]).toEqual([api, 400])
    expect(long.text).toContain('200')
    const short = await ask(api, 'word '.repeat(20))
    expect([api, short.status]).toEqual([api, 200])
    expect(short.rule?.skipped).toEqual({ 'the input has no more than 200 tokens': 1 })
  }
})
