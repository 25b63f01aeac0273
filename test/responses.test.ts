// Model responses through the front door: every form of input, the echo, stored conversations, and the bytes of streams.
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { ModelResponse, ResponseEvent } from '../src/contract/responses-answer.ts'
import { assemble } from '../src/endpoints/responses/assemble.ts'
import type { StreamEvent } from '../src/lib/sse.ts'
import { type Answer, createTestApp, eventsOf, type TestApp } from './support/app.ts'
import { StrictEvent, StrictResponse } from './support/strict/responses.ts'

const PATH = '/v2/router/responses'
const model = 'openai/gpt-4o'
const fixtures = [join(import.meta.dir, 'support/fixtures/responses.yaml')]
const weather = {
  type: 'function',
  name: 'get_weather',
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
}

let app: TestApp
beforeAll(() => {
  app = createTestApp({ fixtures })
})
afterAll(() => app.close())

type Body = Record<string, unknown>
const ask = (body: Body, headers?: Record<string, string>) => app.post(PATH, { model, ...body }, headers)
/** The answer as both the strict client and our own schema read it. */
function whole(answer: Answer): ModelResponse {
  expect(answer.text).toStartWith('{"id":"resp_')
  expect(answer.status).toBe(200)
  StrictResponse.parse(answer.json())
  return ModelResponse.parse(answer.json())
}
const answerTo = async (body: Body, headers?: Record<string, string>) => whole(await ask(body, headers))
const user = (content: unknown) => ({ role: 'user', content })
const call = { type: 'function_call', call_id: 'call_1', name: 'get_weather', arguments: '{"city":"Utrecht"}' }
const result = { type: 'function_call_output', call_id: 'call_1', output: '17 degrees' }

describe('input', () => {
  const forms: [string, Body, string][] = [
    ['a text', { input: 'Say hi' }, 'hi'],
    ['a message without type', { input: [user('Say hi')] }, 'hi'],
    ['a message with type', { input: [{ type: 'message', ...user('Say hi') }] }, 'hi'],
    [
      'text parts',
      {
        input: [
          user([
            { type: 'input_text', text: 'Say ' },
            { type: 'input_text', text: 'hi' },
          ]),
        ],
      },
      'hi',
    ],
    [
      'a picture and a file beside the text',
      {
        input: [
          user([
            { type: 'input_text', text: 'Say hi' },
            { type: 'input_image', image_url: 'https://example.com/a.png', detail: 'auto' },
            { type: 'input_file', file_data: 'data:application/pdf;base64,AAAA', filename: 'a.pdf' },
          ]),
        ],
      },
      'hi',
    ],
    [
      'an answer given back as it was',
      {
        input: [
          {
            type: 'message',
            id: 'msg_1',
            status: 'completed',
            role: 'assistant',
            content: [{ type: 'output_text', text: 'Ready.', annotations: [], logprobs: [] }],
          },
          { role: 'assistant', content: [{ type: 'refusal', refusal: 'No.' }] },
          { role: 'assistant', content: 'Yes.' },
          user('Say hi'),
        ],
      },
      'hi',
    ],
    ['instructions', { input: 'x', instructions: 'Be brief.' }, 'brief'],
    ['a developer message', { input: [{ role: 'developer', content: 'Be brief.' }, user('x')] }, 'brief'],
    [
      'a system message in parts',
      { input: [{ role: 'system', content: [{ type: 'input_text', text: 'Be brief.' }] }, user('x')] },
      'brief',
    ],
    ['a call without id and status', { input: [user('weather?'), call, result], tools: [weather] }, 'weather-told'],
    [
      'a call with id and status',
      {
        input: [
          user('weather?'),
          { ...call, id: 'fc_1', status: 'completed' },
          { ...result, id: null, status: 'completed' },
        ],
        tools: [weather],
      },
      'weather-told',
    ],
    [
      'a result in parts',
      {
        input: [user('weather?'), call, { ...result, output: [{ type: 'input_text', text: '17' }] }],
        tools: [weather],
      },
      'weather-told',
    ],
    ['a lone result', { input: [result], metadata: { form: 'lone' } }, 'after-tool'],
    ['a reference to nothing known', { input: [{ type: 'item_reference', id: 'msg_0' }, user('Say hi')] }, 'hi'],
    [
      'reasoning given back',
      { input: [{ type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: null }, user('Say hi')] },
      'hi',
    ],
    ['a step of a tool of the provider', { input: [{ type: 'web_search_call', id: 'ws_1' }, user('Say hi')] }, 'hi'],
    ['three user messages', { input: [user('1'), user('2'), user('number 3')] }, 'third'],
    [
      'variables',
      { input: 'Say {{what}}', instructions: 'About {{a.b}}', variables: { what: 'hi', a: { b: 1 } } },
      'hi',
    ],
    [
      'variables in parts',
      { input: [user([{ type: 'input_text', text: '{{what}}' }])], variables: { what: 'Say hi' } },
      'hi',
    ],
    ['jinja', { input: 'Say {{ "hi" if a else "no" }}', variables: { a: true }, template_engine: 'jinja' }, 'hi'],
    ['older inputs', { input: 'Say {{what}}', svc: { inputs: [{ key: 'what', value: 'hi' }] } }, 'hi'],
    ['nulls everywhere', { input: 'Say hi', ...nulls() }, 'hi'],
  ]
  function nulls(): Body {
    const names =
      'instructions previous_response_id metadata temperature top_p reasoning thinking max_output_tokens text include top_logprobs tools tool_choice parallel_tool_calls truncation service_tier store background user identity thread variables svc retry fallbacks cache timeout load_balancer name'
    return Object.fromEntries(names.split(' ').map((name) => [name, null]))
  }

  test.each(forms)('%s', async (_, body, fixture) => {
    const answer = await ask(body)
    whole(answer)
    expect(answer.headers.get('x-understudy-fixture')).toBe(fixture)
  })

  test('pictures and files are counted, and named in the trace', async () => {
    const plain = await answerTo({ input: 'Say hi' })
    const image_url = 'data:image/png;base64,iVBORw0KGgo='
    const parts = [
      { type: 'input_text', text: 'Say hi' },
      { type: 'input_image', image_url, detail: 'low' },
      { type: 'input_image', file_id: 'file-1' },
      { type: 'input_file', file_url: 'https://example.com/b.pdf' },
    ]
    const answer = await ask({ input: [user(parts)] })
    expect(whole(answer).usage?.input_tokens).toBe((plain.usage?.input_tokens ?? 0) + 85 + 255 + 255)
    expect((await app.traceOf(answer)).attachments).toEqual([
      { kind: 'image', name: 'image/png' },
      { kind: 'image', name: 'file-1' },
      { kind: 'file', name: 'https://example.com/b.pdf' },
    ])
  })

  test('name, metadata, identity and thread land in the trace', async () => {
    const said = {
      name: 'greeter',
      metadata: { tier: 'gold' },
      identity: { id: 'user-1' },
      thread: { id: 'thread-1', tags: ['a'] },
    }
    const trace = await app.traceOf(await ask({ input: 'Say hi', ...said }))
    expect(trace).toMatchObject({ ...said, operation: 'responses', model, outcome: 'answered', fixture: 'hi' })
  })
})

describe('echo', () => {
  const format = { type: 'json_schema', name: 'person', schema: { type: 'object' } }
  const bare = { type: 'function', name: 'get_weather', strict: true }
  const cases: [string, Body, Body][] = [
    ['temperature', { temperature: 0.5, top_p: 0.2 }, { temperature: 0.5, top_p: 0.2 }],
    ['no temperature', {}, { temperature: 1, top_p: 1 }],
    ['no text', {}, { text: { format: { type: 'text' } } }],
    ['empty text', { text: {} }, { text: { format: { type: 'text' } } }],
    ['JSON object', { text: { format: { type: 'json_object' } } }, { text: { format: { type: 'json_object' } } }],
    ['schema', { text: { format } }, { text: { format: { ...format, strict: true } } }],
    [
      'loose schema',
      { text: { format: { ...format, strict: false, description: 'd' }, verbosity: 'low' } },
      { text: { format: { ...format, strict: false, description: 'd' }, verbosity: 'low' } },
    ],
    ['no tools', {}, { tools: [], tool_choice: 'auto', parallel_tool_calls: true }],
    [
      'tools',
      { tools: [weather], tool_choice: 'none' },
      { tools: [{ ...weather, strict: true }], tool_choice: 'none' },
    ],
    [
      'tool with nulls',
      { tools: [{ type: 'function', name: 'get_weather', description: null, parameters: null, strict: null }] },
      { tools: [bare] },
    ],
    [
      'named tool',
      { tools: [bare], tool_choice: { type: 'function', name: 'get_weather' }, parallel_tool_calls: false },
      { tool_choice: { type: 'function', function: { name: 'get_weather' } }, parallel_tool_calls: false },
    ],
    [
      'tool of the provider',
      { tools: [{ type: 'web_search' }], tool_choice: { type: 'web_search' } },
      { tools: [{ type: 'web_search' }], tool_choice: 'required' },
    ],
    [
      'reasoning',
      { reasoning: { effort: 'none', summary: 'auto' } },
      { reasoning: { effort: 'none', summary: 'auto' } },
    ],
    ['no reasoning', {}, { reasoning: { effort: null, summary: null } }],
    ['instructions', { instructions: 'Be kind.' }, { instructions: 'Be kind.' }],
    ['limits', { max_output_tokens: 99 }, { max_output_tokens: 99, incomplete_details: null, status: 'completed' }],
    ['metadata', { metadata: { a: 'b' }, user: 'u' }, { metadata: { a: 'b' }, user: 'u' }],
    ['no metadata', {}, { metadata: {}, user: null, error: null, instructions: null, previous_response_id: null }],
    [
      'service',
      { service_tier: 'flex', truncation: 'auto', background: true, store: false },
      { service_tier: 'flex', truncation: 'auto', background: true, store: false },
    ],
    ['no service', {}, { service_tier: 'auto', truncation: 'disabled', background: false, store: true }],
    ['logprobs', { top_logprobs: 3 }, { top_logprobs: 3, logprobs: true }],
    ['no logprobs', {}, { top_logprobs: 0, logprobs: false }],
  ]
  test.each(cases)('%s', async (_, body, echoed) => {
    expect(await answerTo({ input: 'Say hi', ...body })).toMatchObject(echoed)
  })
})

describe('answers', () => {
  test('a text, whole', async () => {
    const fresh = createTestApp({ fixtures })
    const answer = await fresh.post(PATH, { model, input: 'Say hi' })
    const response = whole(answer)
    const id = answer.headers.get('x-understudy-trace')
    expect(response).toMatchObject({
      id: `resp_${id}`,
      object: 'response',
      created_at: 1735689600,
      model,
      output_text: 'Hi there',
      usage: {
        input_tokens: 9,
        input_tokens_details: { cached_tokens: 0 },
        output_tokens: 2,
        output_tokens_details: { reasoning_tokens: 0, accepted_prediction_tokens: 0, rejected_prediction_tokens: 0 },
        total_tokens: 11,
      },
    })
    expect(response.output).toEqual([
      {
        id: `msg_${id}_0`,
        type: 'message',
        status: 'completed',
        role: 'assistant',
        content: [{ type: 'output_text', text: 'Hi there', annotations: [], logprobs: [] }],
      },
    ])
    fresh.close()
  })

  test('text and two calls, each with an id of its own', async () => {
    const { output, output_text } = await answerTo({ input: 'Compare', tools: [weather] })
    expect(output_text).toBe('Let me look.')
    expect(output.map((item) => item.type)).toEqual(['message', 'function_call', 'function_call'])
    const calls = output.filter((item) => item.type === 'function_call')
    expect(calls.map((item) => item.arguments)).toEqual(['{"city":"Utrecht"}', '{"city":"Rome"}'])
    expect(calls[0]?.call_id).toMatch(/^call_[0-9a-f]{16}$/)
    expect(calls[1]?.call_id).toBe('call_rome')
    expect(new Set(output.map((item) => item.id)).size).toBe(3)
  })

  test('a refusal', async () => {
    const { output, output_text, status } = await answerTo({ input: 'Refuse' })
    expect(output).toMatchObject([{ content: [{ type: 'refusal', refusal: 'I cannot help with that.' }] }])
    expect([output_text, status]).toEqual(['', 'completed'])
  })

  const thought = 'Two and two make four.'
  const thinking: [string, Body, string[]][] = [
    ['counted only', {}, []],
    ['shown with a summary', { reasoning: { effort: 'low', summary: 'detailed' } }, [thought]],
    ['shown with thinking', { thinking: { type: 'enabled', budget_tokens: 100 } }, [thought]],
  ]
  test.each(thinking)('reasoning is %s', async (_, body, shown) => {
    const { output, usage } = await answerTo({ input: 'Think', ...body })
    const [first, second] = output
    expect(first?.type === 'reasoning' && first.summary.map((part) => part.text)).toEqual(shown)
    expect(second?.type).toBe('message')
    expect(usage?.output_tokens_details.reasoning_tokens).toBe(6)
    expect(usage?.output_tokens).toBe(8)
  })

  test('encrypted reasoning comes only when it is asked for', async () => {
    const include = ['reasoning.encrypted_content']
    const [item] = (await answerTo({ input: 'Think', include })).output
    expect(item?.type === 'reasoning' && item.encrypted_content).toMatch(/^[A-Za-z0-9+/=]{40,}$/)
    const [plain] = (await answerTo({ input: 'Think' })).output
    expect(plain).not.toHaveProperty('encrypted_content')
  })

  const cuts: [string, Body, Body][] = [
    ['in the text', { input: 'Say hi', max_output_tokens: 1 }, { output_text: 'Hi' }],
    ['in the arguments', { input: 'Compare', max_output_tokens: 6 }, { output_text: 'Let me look.' }],
    ['in the reasoning', { input: 'Think', max_output_tokens: 3 }, { output_text: '' }],
  ]
  test.each(cuts)('a limit cuts %s', async (_, body, expected) => {
    const { output, status, incomplete_details, usage, ...rest } = await answerTo({ tools: [weather], ...body })
    expect([status, incomplete_details]).toEqual(['incomplete', { reason: 'max_output_tokens' }])
    expect(output.at(-1)?.status).toBe('incomplete')
    expect(output.slice(0, -1).every((item) => item.status === 'completed')).toBe(true)
    expect(usage?.output_tokens).toBe(body.max_output_tokens as number)
    expect(rest).toMatchObject(expected)
  })

  test('a filter ends an answer', async () => {
    expect(await answerTo({ input: 'Filter' })).toMatchObject({
      status: 'incomplete',
      incomplete_details: { reason: 'content_filter' },
      output_text: 'This was',
    })
  })

  test("a script's own counts win", async () => {
    expect((await answerTo({ input: 'Count' })).usage).toMatchObject({
      input_tokens: 11,
      output_tokens: 7,
      total_tokens: 18,
    })
  })

  test('log probabilities cover the text', async () => {
    const { output } = await answerTo({ input: 'Say hi', include: ['message.output_text.logprobs'], top_logprobs: 2 })
    const [item] = output
    const part = item?.type === 'message' ? item.content[0] : undefined
    const logprobs = part?.type === 'output_text' ? part.logprobs : []
    expect(logprobs.map((one) => one.token)).toEqual(['Hi', ' there'])
    expect(logprobs.map((one) => new TextDecoder().decode(new Uint8Array(one.bytes)))).toEqual(['Hi', ' there'])
    for (const one of logprobs) {
      expect(one.logprob).toBeLessThanOrEqual(0)
      expect(one.top_logprobs).toHaveLength(2)
    }
  })

  const forced: [string, Body][] = [
    ['required', { tool_choice: 'required' }],
    ['named', { tool_choice: { type: 'function', name: 'now' } }],
  ]
  const now = { type: 'function', name: 'now', parameters: { type: 'object', properties: {} } }
  test.each(forced)('a %s call is made without a fixture', async (_, body) => {
    const answer = await ask({ input: 'What time is it?', tools: [now], ...body })
    expect(answer.headers.get('x-understudy-fixture')).toBe('synthesized')
    const { output } = whole(answer)
    const made = output.filter((item) => item.type === 'function_call')
    expect(made.map((item) => [item.name, JSON.parse(item.arguments)])).toEqual([['now', {}]])
  })

  test('a synthesized answer in JSON is JSON', async () => {
    const { output_text } = await answerTo({ input: 'Any object', text: { format: { type: 'json_object' } } })
    expect(JSON.parse(output_text)).toBeObject()
  })
})

describe('conversations', () => {
  test('a chain counts its turns and its tokens', async () => {
    const first = await answerTo({ input: 'number 1', instructions: 'Only here.' })
    const second = await answerTo({ input: [user('number 2')], previous_response_id: first.id })
    const third = await answerTo({ input: 'number 3', previous_response_id: second.id })
    expect(third.output_text).toBe('Third, with 3.')
    expect(third.previous_response_id).toBe(second.id)
    const tokens = [first, second, third].map((response) => response.usage?.input_tokens ?? 0)
    const ownTokens = tokens[2] ?? 0
    expect(ownTokens).toBeGreaterThan((tokens[1] ?? 0) + (second.usage?.output_tokens ?? 0))
    // Instructions are not carried over, so the second input is smaller than the first one with its answer.
    expect(tokens[1]).toBeLessThan((tokens[0] ?? 0) + (first.usage?.output_tokens ?? 0) + 10)
    // Two can continue the same response.
    const branch = await answerTo({ input: 'number 33', previous_response_id: second.id })
    expect(branch.output_text).toBe('Third, with 33.')
  })

  test('a chain may be long', async () => {
    let id: string | undefined
    let text = ''
    for (let turn = 1; turn <= 50; turn++) {
      const response = await answerTo({ input: `turn ${turn}`, ...(id ? { previous_response_id: id } : {}) })
      id = response.id
      text = response.output_text
    }
    expect(text).toBe('Fifty turns.')
  })

  test.each([false, true])('a tool round trip over a stored response (stream: %p)', async (stream) => {
    const asked = await ask({ input: 'How is the weather?', tools: [weather], stream })
    const made = stream ? lastResponse(asked) : whole(asked)
    const [item] = made.output
    if (item?.type !== 'function_call') throw new Error(`a call was expected, not ${item?.type}`)
    const output = { type: 'function_call_output', call_id: item.call_id, output: '{"degrees":17}' }
    const told = await answerTo({ input: [output], previous_response_id: made.id, tools: [weather] })
    expect(told.output_text).toBe('It is 17 degrees in Utrecht.')
    // The same with a reference to the call instead of the response, as the AI SDK does it.
    const referred = { input: [user('weather?'), { type: 'item_reference', id: item.id }, output], tools: [weather] }
    const again = await answerTo(referred)
    const spelled = await answerTo({ ...referred, input: [user('weather?'), item, output] })
    expect(again.output_text).toBe('It is 17 degrees in Utrecht.')
    expect(again.usage?.input_tokens).toBe(spelled.usage?.input_tokens ?? 0)
  })

  const unknown: [string, () => Promise<string>, Record<string, string>][] = [
    ['nobody made', async () => 'resp_01JGFJJZ00ZZZZZZZZZZZZZZZZ', {}],
    ['that was not stored', async () => (await answerTo({ input: 'Say hi', store: false })).id, {}],
    ['of another session', async () => (await answerTo({ input: 'Say hi' })).id, { 'x-understudy-session': 'other' }],
  ]
  test.each(unknown)('a response %s is not found', async (_, make, headers) => {
    const id = await make()
    const answer = await ask({ input: 'x', previous_response_id: id }, headers)
    expect(answer.status).toBe(404)
    expect(answer.json().error).toMatchObject({ type: 'not_found_error', param: 'previous_response_id' })
    const { message } = answer.json() as { message: string }
    for (const part of [id, 'per session', 'store: false']) expect(message).toContain(part)
  })
})

const readEvents = (answer: Answer) => eventsOf(answer.text).slice(0, -1) as { type: string; sequence_number: number }[]
const lastResponse = (answer: Answer) => (readEvents(answer).at(-1) as unknown as { response: ModelResponse }).response

describe('streams', () => {
  test('the bytes of a short one', async () => {
    const answer = await ask({ input: 'Say hi', stream: true })
    expect(answer.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
    const id = answer.headers.get('x-understudy-trace')
    const item = `"item_id":"msg_${id}_0","output_index":0,"content_index":0`
    const part = (text: string) => `"part":{"type":"output_text","text":"${text}","annotations":[],"logprobs":[]}`
    const message = (status: string, content: string) =>
      `"item":{"id":"msg_${id}_0","type":"message","status":"${status}","role":"assistant","content":[${content}]}`
    const blocks = answer.text.split('\n\n')
    const middle = [
      ['output_item.added', `"output_index":0,${message('in_progress', '')}`],
      ['content_part.added', `${item},${part('')}`],
      ['output_text.delta', `${item},"delta":"Hi","logprobs":[]`],
      ['output_text.delta', `${item},"delta":" there","logprobs":[]`],
      ['output_text.done', `${item},"text":"Hi there","logprobs":[]`],
      ['content_part.done', `${item},${part('Hi there')}`],
      ['output_item.done', `"output_index":0,${message('completed', part('Hi there').slice('"part":'.length))}`],
    ].map(([type, rest], index) => {
      const name = `response.${type}`
      return `event: ${name}\ndata: {"type":"${name}","sequence_number":${index + 2},${rest}}`
    })
    expect(blocks.slice(2, 9)).toEqual(middle)
    const frames = ['created', 'in_progress', 'completed'].map((name) => `event: response.${name}\ndata: {`)
    for (const [index, block] of [blocks[0], blocks[1], blocks[9]].entries())
      expect(block).toStartWith(frames[index] ?? '')
    expect(blocks.slice(10)).toEqual(['data: [DONE]', ''])
  })

  const cases: [string, Body, string][] = [
    ['text', { input: 'Say hi' }, 'completed'],
    ['text with log probabilities', { input: 'Say hi', top_logprobs: 2 }, 'completed'],
    ['text and calls', { input: 'Compare', tools: [weather] }, 'completed'],
    ['a refusal', { input: 'Refuse' }, 'completed'],
    ['hidden reasoning', { input: 'Think' }, 'completed'],
    [
      'shown reasoning',
      { input: 'Think', reasoning: { summary: 'auto' }, include: ['reasoning.encrypted_content'] },
      'completed',
    ],
    ['a cut text', { input: 'Say hi', max_output_tokens: 1 }, 'incomplete'],
    ['a cut call', { input: 'Compare', tools: [weather], max_output_tokens: 6 }, 'incomplete'],
    ['a filtered text', { input: 'Filter' }, 'incomplete'],
    ['a synthesized text', { input: 'Whatever', metadata: { a: 'b' } }, 'completed'],
    ['characters of several tokens', { input: 'Echo 👩‍🚀 and 漢字' }, 'completed'],
  ]

  test.each(cases)('%s: the same as the whole answer', async (_, body, status) => {
    const [streaming, plain] = [createTestApp({ fixtures }), createTestApp({ fixtures })]
    const answer = await streaming.post(PATH, { model, ...body, stream: true })
    const response = whole(await plain.post(PATH, { model, ...body }))
    const events = readEvents(answer)
    expect(events.map((event) => event.sequence_number)).toEqual(events.map((_, index) => index))
    const names = [...answer.text.matchAll(/^event: (.*)$/gm)].map(([, name]) => name ?? '')
    expect(names).toEqual(events.map((event) => event.type))
    for (const event of events) {
      StrictEvent.parse(event)
      expect(ResponseEvent.parse(event) as unknown).toEqual(event)
    }
    expect(events.at(-1)).toMatchObject({ type: `response.${status}`, response: { status } })
    expect(lastResponse(answer)).toEqual(response)
    expect((await streaming.traceOf(answer)).answer).toEqual(response)

    const sent = events.map((data): StreamEvent => ({ event: data.type, data }))
    expect(assemble(sent)).toEqual(response)
    const cut = assemble(sent.slice(0, -1)) as ModelResponse
    expect(cut).toMatchObject({ status: 'in_progress', output: response.output, output_text: response.output_text })
    // Without the events that repeat what the deltas said, the texts are the same.
    const deltas = assemble(sent.filter(({ event }) => !event?.endsWith('.done')).slice(0, -1)) as ModelResponse
    expect(JSON.stringify(deltas.output).replaceAll('in_progress', '')).toBe(
      JSON.stringify(response.output).replaceAll(/"(in)?complete(d)?"/g, '""'),
    )
    streaming.close()
    plain.close()
  })

  test('what there is after a few events', () => {
    expect(assemble([])).toEqual({})
  })
})

describe('refusals of a request', () => {
  const cases: [string, Body, string, string][] = [
    ['no input', {}, 'input', 'required'],
    ['input of another type', { input: 3 }, 'input', 'must be a string'],
    ['no items', { input: [] }, 'input', 'at least 1 item'],
    ['item without role', { input: [{ content: 'x' }] }, 'input[0].role', '"developer"'],
    ['item of no type', { input: [{ type: 'shout' }] }, 'input[0].type', '"message", "function_call"'],
    ['part of chat', { input: [user([{ type: 'text', text: 'x' }])] }, 'input[0].content[0].type', '"input_text"'],
    [
      'picture without source',
      { input: [user([{ type: 'input_image' }])] },
      'input[0].content[0]',
      'image_url, file_id',
    ],
    ['result without call', { input: [{ ...result, call_id: undefined }] }, 'input[0].call_id', 'required'],
    ['model without provider', { model: 'gpt-4o', input: 'x' }, 'model', '<provider>/<model>'],
    ['temperature', { input: 'x', temperature: 2.5 }, 'temperature', 'at most 2'],
    ['top_p', { input: 'x', top_p: -1 }, 'top_p', 'at least 0'],
    ['top_logprobs', { input: 'x', top_logprobs: 21 }, 'top_logprobs', 'at most 20'],
    ['max_output_tokens', { input: 'x', max_output_tokens: 0 }, 'max_output_tokens', 'at least 1'],
    ['effort', { input: 'x', reasoning: { effort: 'huge' } }, 'reasoning.effort', '"xhigh"'],
    ['include', { input: 'x', include: ['all'] }, 'include[0]', 'message.output_text.logprobs'],
    ['service tier', { input: 'x', service_tier: 'fast' }, 'service_tier', '"priority"'],
    ['truncation', { input: 'x', truncation: 'hard' }, 'truncation', '"disabled"'],
    ['format', { input: 'x', text: { format: { type: 'xml' } } }, 'text.format.type', '"json_schema"'],
    [
      'nested format',
      { input: 'x', text: { format: { type: 'json_schema', json_schema: {} } } },
      'text.format.name',
      'required',
    ],
    ['tool name', { input: 'x', tools: [{ type: 'function', name: 'a b' }] }, 'tools[0].name', 'a-z'],
    [
      'nested tool',
      { input: 'x', tools: [{ type: 'function', function: { name: 'a' } }] },
      'tools[0].name',
      'required',
    ],
    ['forced without tools', { input: 'x', tool_choice: 'required' }, 'tool_choice', "without 'tools'"],
    [
      'unknown tool',
      { input: 'x', tools: [weather], tool_choice: { type: 'function', name: 'b' } },
      'tool_choice.name',
      'get_weather',
    ],
    [
      'metadata pairs',
      { input: 'x', metadata: Object.fromEntries(Array.from({ length: 17 }, (_, index) => [`k${index}`, 'v'])) },
      'metadata',
      'at most 16 pairs',
    ],
    ['metadata value', { input: 'x', metadata: { a: 'v'.repeat(513) } }, 'metadata.a', 'at most 512'],
    ['stored prompt', { input: 'x', svc: { prompt: { id: 'p' } } }, 'svc.prompt', 'not emulated'],
  ]
  test.each(cases)('%s', async (_, body, param, text) => {
    const answer = await ask(body)
    expect(answer.status).toBe(400)
    const { error } = answer.json() as { error: { param: string; message: string } }
    expect(error.param).toBe(param)
    expect(error.message).toContain(text)
  })

  test('an input that is too long, unless it may be cut', async () => {
    const input = 'word '.repeat(9_000)
    const refused = await ask({ model: 'openai/gpt-4', input })
    expect([refused.status, (refused.json().error as Body).code]).toEqual([400, 'context_length_exceeded'])
    const { usage } = await answerTo({ model: 'openai/gpt-4', input, truncation: 'auto' })
    expect(usage?.input_tokens).toBe(8192)
  })
})

test('OpenAPI shows the operation, and its examples work', async () => {
  const document = (await app.fetch('/swagger/json')).json() as {
    paths: Record<
      string,
      { post: { requestBody: { content: Record<string, { examples: Record<string, { value: Body }> }> } } }
    >
    components: { schemas: Record<string, unknown> }
  }
  for (const name of ['ResponsesRequest', 'ResponsesResponse', 'ResponsesChunk']) {
    expect(document.components.schemas).toHaveProperty(name)
  }
  const examples = document.paths[PATH]?.post.requestBody.content['application/json']?.examples ?? {}
  expect(Object.keys(examples)).toEqual(['greeting', 'stream', 'tool', 'toolResult'])
  for (const { value } of Object.values(examples)) {
    const answer = await app.post(PATH, value)
    if (value.stream) expect(lastResponse(answer).status).toBe('completed')
    else expect(whole(answer).status).toBe('completed')
  }
})
