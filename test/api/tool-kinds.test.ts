// Tools that are not plain functions: custom ones with free text, legacy functions, and choices that narrow what is offered; with the real
// OpenAI SDK, whole and streamed.
import { afterAll, describe, expect, test } from 'bun:test'
import type OpenAI from 'openai'
import { createTestApp } from '../support/app.ts'
import { CHAT, MODEL, user } from '../support/chat.ts'
import { openaiOf } from '../support/clients.ts'
import { folderWith } from '../support/fixtures.ts'
import { PATH } from '../support/responses.ts'

const folder = folderWith({
  'fixtures/chat.completions/run.yaml': [
    {
      match: { user: 'run it', tool_result: false },
      reply: { tool_calls: [{ name: 'run', input: 'print("a b c")\n' }] },
    },
    {
      match: { user: 'old', tools: ['look'] },
      reply: { tool_calls: [{ name: 'look', arguments: { city: 'Utrecht' } }] },
    },
    { match: { user: 'how', output: 'tool' }, reply: { tool_calls: [{ name: 'look', arguments: { city: 'tool' } }] } },
    { match: { user: 'how', output: 'json' }, reply: { content: '{"city":"json"}' } },
    { match: { user: 'how', output: 'text' }, reply: { content: 'text' } },
  ],
  'fixtures/responses/run.yaml': [
    {
      match: { user: 'run it', tool_result: false },
      reply: { tool_calls: [{ name: 'run', input: 'print("a b c")\n' }] },
    },
    { match: { user: 'how', output: 'tool' }, reply: { tool_calls: [{ name: 'look', arguments: { city: 'tool' } }] } },
    { match: { user: 'how', output: 'json' }, reply: { content: '{"city":"json"}' } },
    { match: { user: 'how', output: 'text' }, reply: { content: 'text' } },
  ],
})
const app = createTestApp({ fixtures: [`${folder.path}/fixtures`] })
const openai = openaiOf(app)
afterAll(async () => {
  await app.close()
  folder.remove()
})

const schema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
const look = { type: 'function' as const, function: { name: 'look', parameters: schema } }
const find = { type: 'function' as const, function: { name: 'find', parameters: schema } }
const run = { type: 'custom' as const, custom: { name: 'run' } }
const flat = ({ function: { name } }: typeof look) => ({
  type: 'function' as const,
  name,
  parameters: schema,
  strict: true,
})
const named = (name: string) => ({ type: 'function' as const, function: { name } })

type ChatBody = Omit<OpenAI.Chat.ChatCompletionCreateParamsNonStreaming, 'model' | 'messages'>
/** A piece of a call: the SDK's own type of it knows functions alone. */
interface Head {
  function?: { name?: string }
  custom?: { name?: string }
}
/** The names of what is called, in both forms of an answer. */
async function chatCalls(text: string, body: ChatBody): Promise<string[]> {
  const asked = { model: MODEL, messages: [{ role: 'user' as const, content: text }], ...body }
  const { choices } = await openai.chat.completions.create(asked)
  const streamed = await Array.fromAsync(await openai.chat.completions.create({ ...asked, stream: true }))
  const heads = streamed.flatMap(({ choices: [choice] }) => choice?.delta.tool_calls ?? []) as Head[]
  const names = (choices[0]?.message.tool_calls ?? []).map((call) =>
    call.type === 'custom' ? call.custom.name : call.function.name,
  )
  expect(heads.flatMap(({ function: called, custom }) => called?.name ?? custom?.name ?? [])).toEqual(names)
  return names
}
const allowed = (mode: 'auto' | 'required', ...names: string[]) => ({
  type: 'allowed_tools' as const,
  allowed_tools: { mode, tools: names.map(named) },
})

describe('allowed_tools', () => {
  const tools = [look, find]
  const rows: [string, ChatBody, string[]][] = [
    ['required calls one of them', { tools, tool_choice: allowed('required', 'find') }, ['find']],
    ['auto calls none that the message does not request', { tools, tool_choice: allowed('auto', 'find') }, []],
  ]
  test.each(rows)('applies to a chat: %s', async (_, body, names) => {
    expect(await chatCalls('What is up?', body)).toEqual(names)
  })

  test('hides other tools from fixtures', async () => {
    const answer = await app.post(CHAT, {
      model: MODEL,
      ...user('What is the weather in Paris?'),
      tools: [look, { type: 'function', function: { name: 'get_weather', parameters: schema } }],
      tool_choice: allowed('auto', 'look'),
    })
    expect(answer.json()).toMatchObject({ choices: [{ finish_reason: 'stop' }] })
  })

  test('applies to a model response', async () => {
    const response = await openai.responses.create({
      model: MODEL,
      input: 'What is up?',
      tools: tools.map(flat),
      tool_choice: { type: 'allowed_tools', mode: 'required', tools: [{ type: 'function', name: 'find' }] },
    })
    expect(response.output).toMatchObject([{ type: 'function_call', name: 'find' }])
    expect(response.tool_choice).toEqual('required')
  })

  test.each([
    [CHAT, { ...user('hi'), tools, tool_choice: allowed('auto', 'fly') }, 'tool_choice'],
    [
      PATH,
      {
        input: 'hi',
        tools: tools.map(flat),
        tool_choice: { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'function', name: 'fly' }] },
      },
      'tool_choice.tools[0].name',
    ],
  ])('is rejected at %s for a tool that is not offered', async (path, body, param) => {
    const answer = await app.post(path, { model: MODEL, ...body })
    expect({ status: answer.status, error: answer.json().error }).toMatchObject({
      status: 400,
      error: { param: expect.stringContaining(param) },
    })
  })
})

describe('custom tools', () => {
  test('are called with free text by a fixture, whole and streamed', async () => {
    const asked = { model: MODEL, messages: [{ role: 'user' as const, content: 'run it' }], tools: [run, look] }
    const { choices } = await openai.chat.completions.create(asked)
    expect(choices).toMatchObject([
      {
        finish_reason: 'tool_calls',
        message: { tool_calls: [{ type: 'custom', custom: { name: 'run', input: 'print("a b c")\n' } }] },
      },
    ])
    const pieces: { id?: string; type?: string; custom?: { name?: string; input?: string } }[] = []
    for await (const chunk of await openai.chat.completions.create({ ...asked, stream: true }))
      pieces.push(...((chunk.choices[0]?.delta.tool_calls ?? []) as typeof pieces))
    expect(pieces[0]).toMatchObject({ id: expect.any(String), type: 'custom', custom: { name: 'run' } })
    expect(pieces.map(({ custom }) => custom?.input ?? '').join('')).toBe('print("a b c")\n')
    const answer = await app.post(CHAT, { ...asked, stream: true })
    const trace = await app.traceOf(answer)
    expect(trace.response).toMatchObject({
      choices: [{ message: { tool_calls: [{ type: 'custom', custom: { name: 'run' } }] } }],
    })
  })

  test.each([
    ['required', 'required' as const],
    ['by name', { type: 'custom' as const, custom: { name: 'run' } }],
  ])('are called by the generator: %s', async (_, tool_choice) => {
    expect(await chatCalls('go', { tools: [run], tool_choice })).toEqual(['run'])
  })

  test('follow a regular grammar', async () => {
    const format = { type: 'grammar' as const, grammar: { syntax: 'regex' as const, definition: 'SELECT [a-z]{3,8}' } }
    const { choices } = await openai.chat.completions.create({
      model: MODEL,
      messages: [{ role: 'user', content: 'go' }],
      tools: [{ type: 'custom', custom: { name: 'run', format } }],
      tool_choice: 'required',
    })
    const [call] = choices[0]?.message.tool_calls ?? []
    expect(call?.type === 'custom' ? call.custom.input : '').toMatch(/^SELECT [a-z]{3,8}$/)
  })

  test('work in a model response, whole, streamed and continued', async () => {
    const asked = { model: MODEL, input: 'run it', tools: [{ type: 'custom' as const, name: 'run' }] }
    const response = await openai.responses.create(asked)
    expect(response.output).toMatchObject([{ type: 'custom_tool_call', name: 'run', input: 'print("a b c")\n' }])
    expect(response.tools).toEqual([{ type: 'custom', name: 'run' }])
    const types: string[] = []
    let input = ''
    const stream = openai.responses.stream(asked)
    for await (const event of stream) {
      types.push(event.type)
      if (event.type === 'response.custom_tool_call_input.delta') input += event.delta
    }
    expect(input).toBe('print("a b c")\n')
    expect(types).toContain('response.custom_tool_call_input.done')
    expect((await stream.finalResponse()).output).toMatchObject([{ type: 'custom_tool_call', input }])
    const [call] = response.output
    if (call?.type !== 'custom_tool_call') throw new Error('no call')
    const told = await openai.responses.create({
      ...asked,
      previous_response_id: response.id,
      input: [{ type: 'custom_tool_call_output', call_id: call.call_id, output: 'a b c' }],
    })
    expect(told.output_text).toContain('a b c')
  })

  test('are chosen by name in a model response', async () => {
    const { output } = await openai.responses.create({
      model: MODEL,
      input: 'go',
      tools: [{ type: 'custom', name: 'run' }, flat(look)],
      tool_choice: { type: 'custom', name: 'run' },
    })
    expect(output).toMatchObject([{ type: 'custom_tool_call', name: 'run' }])
  })
})

describe('legacy functions', () => {
  const functions = [look.function, find.function]
  const asked = (content: string) => ({ model: MODEL, messages: [{ role: 'user' as const, content }], functions })
  const rows: [string, string, 'auto' | 'none' | { name: string } | undefined, string | undefined][] = [
    ['a fixture calls one', 'old', undefined, 'look'],
    ['none suppresses the call of a fixture', 'old', 'none', undefined],
    ['a name calls that function', 'What is up?', { name: 'find' }, 'find'],
    ['auto calls none that the message does not request', 'What is up?', 'auto', undefined],
  ]
  test.each(rows)('are called as expected: %s', async (_, content, choice, name) => {
    const body = { ...asked(content), ...(choice ? { function_call: choice } : {}) }
    const { choices } = await openai.chat.completions.create(body)
    expect(choices[0]?.finish_reason).toBe(name ? 'function_call' : 'stop')
    expect(choices[0]?.message.function_call?.name).toBe(name)
    expect(choices[0]?.message.tool_calls).toBeUndefined()
    const streamed = await openai.chat.completions.stream({ ...body, stream: true }).finalChatCompletion()
    expect(streamed.choices[0]?.finish_reason).toBe(name ? 'function_call' : 'stop')
    expect(streamed.choices[0]?.message.function_call ?? null).toEqual(choices[0]?.message.function_call ?? null)
    if (name)
      expect(JSON.parse(choices[0]?.message.function_call?.arguments ?? '')).toMatchObject({ city: expect.any(String) })
  })

  test('have results that count as tool results', async () => {
    const { choices } = await openai.chat.completions.create({
      ...asked('old'),
      messages: [
        { role: 'user', content: 'Say something new' },
        { role: 'assistant', content: null, function_call: { name: 'look', arguments: '{}' } },
        { role: 'function', name: 'look', content: '17 degrees' },
      ],
    })
    expect(choices[0]?.message.content).toContain('17 degrees')
  })

  test('are in the trace of a stream', async () => {
    const answer = await app.post(CHAT, { ...asked('old'), stream: true })
    expect((await app.traceOf(answer)).response).toMatchObject({
      choices: [{ finish_reason: 'function_call', message: { function_call: { name: 'look' } } }],
    })
  })

  const wrong: [string, object, string][] = [
    ['an unknown name', { functions, function_call: { name: 'fly' } }, 'function_call'],
    ['a name without functions', { function_call: { name: 'fly' } }, 'function_call'],
    ['functions beside tools', { functions, tools: [look] }, 'functions'],
  ]
  test.each(wrong)('reject %s', async (_, patch, param) => {
    const answer = await app.post(CHAT, { model: MODEL, ...user('hi'), ...patch })
    expect({ status: answer.status, error: answer.json().error }).toMatchObject({ status: 400, error: { param } })
  })
})

describe('tool_choice after a tool result', () => {
  const tools = [look, find]
  const after = (...called: string[]) => [
    { role: 'user' as const, content: 'Go on' },
    ...called.flatMap((name, index) => [
      {
        role: 'assistant' as const,
        content: null,
        tool_calls: [{ id: `call_${index}`, type: 'function' as const, function: { name, arguments: '{}' } }],
      },
      { role: 'tool' as const, tool_call_id: `call_${index}`, content: 'done' },
    ]),
  ]
  const rows: [string, ChatBody['tool_choice'], string[], string[]][] = [
    ['required calls a tool that was not called yet', 'required', ['look'], ['find']],
    ['required calls a tool when all were called', 'required', ['look', 'find'], ['look']],
    ['a name calls that tool', named('look'), ['look'], ['look']],
    ['auto returns text', 'auto', ['look'], []],
  ]
  test.each(rows)('is followed: %s', async (_, tool_choice, called, names) => {
    const { choices } = await openai.chat.completions.create({
      model: MODEL,
      messages: after(...called),
      tools,
      tool_choice,
    })
    expect(
      (choices[0]?.message.tool_calls ?? []).map((call) => (call.type === 'function' ? call.function.name : '')),
    ).toEqual(names)
  })

  test('is followed in a model response', async () => {
    const { output } = await openai.responses.create({
      model: MODEL,
      input: [
        { role: 'user', content: 'Go on' },
        { type: 'function_call', call_id: 'call_1', name: 'look', arguments: '{}' },
        { type: 'function_call_output', call_id: 'call_1', output: 'done' },
      ],
      tools: tools.map(flat),
      tool_choice: 'required',
    })
    expect(output).toMatchObject([{ type: 'function_call', name: 'find' }])
  })
})

describe('required output of a model response', () => {
  const rows: [string, object, string][] = [
    ['text', {}, 'text'],
    ['JSON', { text: { format: { type: 'json_object' } } }, '{"city":"json"}'],
    ['JSON of a schema', { text: { format: { type: 'json_schema', name: 'a', schema } } }, '{"city":"json"}'],
    ['a tool call', { tools: [flat(look)], tool_choice: 'required' }, '{"city":"tool"}'],
    ['a named one', { tools: [flat(look)], tool_choice: { type: 'function', name: 'look' } }, '{"city":"tool"}'],
  ]
  test.each(rows)('is matched by fixtures: %s', async (_, body, said) => {
    const answer = await app.post(PATH, { model: MODEL, input: 'how', ...body })
    const { output } = answer.json() as { output: { arguments?: string; content?: { text: string }[] }[] }
    expect(output[0]?.arguments ?? output[0]?.content?.[0]?.text).toBe(said)
  })
})

test('model response: returns its tools as given, without fields that were not given', async () => {
  const tools = [{ type: 'function', name: 'look', parameters: null, strict: null }, { type: 'shell' }]
  const answer = await app.post(PATH, { model: MODEL, input: 'hi', tools })
  expect(answer.json().tools).toEqual([{ type: 'function', name: 'look', strict: true }, { type: 'shell' }])
})
