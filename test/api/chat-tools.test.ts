// Tools: which are called, with what arguments, how a call is streamed, and that a result ends the round.
import { afterAll, describe, expect, test } from 'bun:test'
import { judgement } from '../support/ajv.ts'
import { createTestApp } from '../support/app.ts'
import { both, FIXTURES, messageOf, refused, streamed, user, whole } from '../support/chat.ts'
import { satisfiable } from '../support/schemas.ts'

const app = createTestApp({ fixtures: [FIXTURES], shipped_fixtures: true })
afterAll(app.close)

const object = (properties: object, required: string[]) => ({ type: 'object', properties, required })
const tool = (name: string, parameters?: object, more: object = {}) => ({
  type: 'function',
  function: { name, parameters, ...more },
})
const text = { type: 'string' }
const weather = tool('get_weather', object({ city: text }, ['city']), { description: 'Current weather of a city' })
const time = tool('get_time', object({ zone: text, format: { enum: ['short', 'long'] } }, ['zone', 'format']))
const tools = [weather, time]
const named = (name: string) => ({ type: 'function', function: { name } })

describe('tool_choice', () => {
  const rows: [string, object, string[]][] = [
    ['auto calls nothing that the message does not request', { tools, tool_choice: 'auto' }, []],
    ['missing means auto', { tools }, []],
    ['null means auto', { tools, tool_choice: null }, []],
    ['none calls nothing', { tools, tool_choice: 'none' }, []],
    ['none calls nothing without tools', { tool_choice: 'none' }, []],
    ['required calls the first tool when none fits better', { tools, tool_choice: 'required' }, ['get_weather']],
    ['required calls the only tool', { tools: [time], tool_choice: 'required' }, ['get_time']],
    [
      'required calls the tool that the message is about',
      { tools, tool_choice: 'required', ...user('What time is it?') },
      ['get_time'],
    ],
    ['a name calls that tool', { tools, tool_choice: named('get_time') }, ['get_time']],
    ['a name without a type calls that tool', { tools, tool_choice: { function: { name: 'get_time' } } }, ['get_time']],
    ['a name keeps the call of a fixture', { tools, ...user('What is the weather in Paris?') }, ['get_weather']],
    ['none suppresses the call of a fixture', { tools, tool_choice: 'none', ...user('the weather in Paris?') }, []],
    [
      'a name replaces the call of a fixture to another tool',
      { tools, tool_choice: named('get_time'), ...user('the weather in Paris?') },
      ['get_time'],
    ],
    [
      'required adds a call to a fixture with text',
      { tools, tool_choice: 'required', ...user('hello') },
      ['get_weather'],
    ],
  ]
  test.each(rows)('decides the calls: %s', async (_, patch, names) => {
    const completion = await both(app, patch)
    const { tool_calls: calls = [], content } = messageOf(completion)
    expect(calls.map((call) => call.function.name)).toEqual(names)
    expect(completion.choices[0]?.finish_reason).toBe(names.length > 0 ? 'tool_calls' : 'stop')
    if (names.length > 0) expect(content).toBeNull()
    else expect(content).toMatch(/\w/)
    for (const { function: called } of calls) {
      const schema = tools.find((one) => one.function.name === called.name)?.function.parameters ?? false
      expect(judgement(schema, JSON.parse(called.arguments))).toEqual([])
    }
  })

  const wrong: [string, object, string, string][] = [
    ['an unknown name', { tools, tool_choice: named('fly') }, 'tool_choice', 'get_weather, get_time'],
    ['a name and no tools', { tool_choice: named('fly') }, 'tool_choice', 'there are none'],
    ['required and no tools', { tool_choice: 'required' }, 'tool_choice', "'tools'"],
    ['required and an empty list of tools', { tools: [], tool_choice: 'required' }, 'tool_choice', "'tools'"],
    [
      'the flat form of the responses API',
      { tools, tool_choice: { type: 'function', name: 'x' } },
      'tool_choice.function',
      '',
    ],
    [
      'parameters that are not an object',
      { tools: [tool('f', { type: 'string' })] },
      'tools[0].function.parameters.type',
      '"object"',
    ],
    ['a name with a dot', { tools: [tool('get.weather')] }, 'tools[0].function.name', 'got "get.weather"'],
    ['a function with a colon', { functions: [{ name: 'get:weather' }] }, 'functions[0].name', 'letters, digits'],
  ]
  test.each(wrong)('is rejected with %s', async (_, patch, param, said) => {
    const error = await refused(app, patch)
    expect(error.param).toBe(param)
    expect(error.message).toContain(said)
  })
})

test('tool name: may have dots and colons with a Google model', async () => {
  const offer = { model: 'google/gemini-2.5-flash', tools: [tool('weather.get:now')], tool_choice: 'required' }
  const { completion } = await whole(app, offer)
  expect(messageOf(completion).tool_calls?.[0]?.function.name).toBe('weather.get:now')
})

describe('generated tool arguments', () => {
  const schemas = satisfiable.filter(
    ([, schema]) =>
      typeof schema === 'object' &&
      (!('type' in schema) || schema.type === 'object') &&
      judgement(schema, 'x').length > 0,
  )
  test('are tested with many schemas', () => {
    expect(schemas.length).toBeGreaterThan(30)
  })
  test.each(schemas)('satisfy %s', async (_, schema) => {
    const { completion } = await whole(app, { tools: [tool('f', schema as object)], tool_choice: 'required' })
    const [call] = messageOf(completion).tool_calls ?? []
    expect(judgement(schema, JSON.parse(call?.function.arguments ?? ''))).toEqual([])
  })

  const accepted: [string, object][] = [
    ['no type', { function: { name: 'f', parameters: object({ a: text }, ['a']) } }],
    ['$schema', tool('f', { $schema: 'http://json-schema.org/draft-07/schema#', ...object({ a: text }, ['a']) })],
    ['no required', tool('f', { type: 'object', properties: { a: text } })],
    ['strict: null', tool('f', object({ a: text }, ['a']), { strict: null })],
    ['strict: true', tool('f', { ...object({ a: text }, ['a']), additionalProperties: false }, { strict: true })],
    ['no parameters', tool('f')],
    ['parameters: null', { type: 'function', function: { name: 'f', parameters: null } }],
    ['no properties', tool('f', { type: 'object' })],
    ['an empty schema', tool('f', {})],
    ['description: null', tool('f', object({ a: text }, ['a']), { description: null })],
  ]
  test.each(accepted)('satisfy a tool with %s', async (_, given) => {
    const completion = await both(app, { tools: [given], tool_choice: 'required' })
    const value: unknown = JSON.parse(messageOf(completion).tool_calls?.[0]?.function.arguments ?? '')
    const { parameters } = (given as ReturnType<typeof tool>).function
    expect(value).toBeObject()
    expect(judgement(parameters ?? { type: 'object' }, value)).toEqual([])
  })

  test('are refused for an unsatisfiable schema only when its tool is forced', async () => {
    const impossible = tool('f', object({ a: { type: 'integer', minimum: 5, maximum: 3 } }, ['a']))
    const patch = { tools: [weather, impossible] }
    const error = await refused(app, { ...patch, tool_choice: named('f') }, 422)
    expect(error).toMatchObject({ param: 'tools[1].function.parameters', code: 'sample_not_found' })
    expect(error.message).toContain('no number is at least 5 and at most 3 (at /properties/a/minimum)')
    expect(messageOf(await both(app, patch)).tool_calls).toBeUndefined()
  })

  test('are cut by max_tokens, and the finish reason says so', async () => {
    const { completion } = await whole(app, { tools, tool_choice: named('get_time'), max_completion_tokens: 2 })
    expect(completion.choices[0]?.finish_reason).toBe('length')
    expect(completion.usage.completion_tokens).toBe(2)
    const [call] = messageOf(completion).tool_calls ?? []
    expect(() => JSON.parse(call?.function.arguments ?? '')).toThrow()
  })
})

describe('several tool calls', () => {
  test('come in one response, each with an index and an id of its own', async () => {
    const calls = messageOf(await both(app, { tools, ...user('both') })).tool_calls ?? []
    expect(calls.map(({ index, function: called }) => [index, called.name, JSON.parse(called.arguments)])).toEqual([
      [0, 'get_weather', { city: 'Paris' }],
      [1, 'get_time', { zone: 'Europe/Paris', format: 'short' }],
    ])
    expect(new Set(calls.map(({ id }) => id)).size).toBe(2)
  })

  test.each([
    [false, 1],
    [true, 2],
    [null, 2],
  ])('are limited by parallel_tool_calls %p to %p', async (parallel_tool_calls, count) => {
    const completion = await both(app, { tools, parallel_tool_calls, ...user('both') })
    expect(messageOf(completion).tool_calls).toHaveLength(count)
  })

  test('have ids of their own in each choice', async () => {
    const { choices } = await both(app, { tools, tool_choice: 'required', n: 3 })
    const ids = choices.flatMap(({ message }) => message.tool_calls?.map(({ id }) => id) ?? [])
    expect(new Set(ids).size).toBe(3)
  })
})

test('streamed tool call: begins with its id and name, and its arguments follow in chunks', async () => {
  const { chunks } = await streamed(app, { tools, ...user('both') })
  const deltas = chunks.flatMap(({ choices }) => choices[0]?.delta.tool_calls ?? [])
  for (const index of [0, 1]) {
    const [head, ...pieces] = deltas.filter((delta) => delta.index === index)
    expect(head).toMatchObject({ id: expect.any(String), type: 'function', function: { arguments: '' } })
    expect(pieces.length).toBeGreaterThan(3)
    for (const piece of pieces) expect(piece).toEqual({ index, function: { arguments: expect.any(String) } })
    expect(JSON.parse(pieces.map((piece) => piece.function.arguments).join(''))).toBeObject()
  }
  expect(deltas.map(({ index }) => index)).toEqual(deltas.map(({ index }) => index).sort())
})

test('tool call of a fixture: may have text, its own id and broken arguments', async () => {
  const message = messageOf(await both(app, { tools, ...user('explain and call') }))
  expect(message).toMatchObject({ content: 'I will look.' })
  const call = { index: 0, type: 'function' as const, id: 'call_mine' }
  expect(message.tool_calls).toEqual([{ ...call, function: { name: 'get_weather', arguments: '{"city": "Paris' } }])
})

describe('response after a tool result', () => {
  const history = (content: unknown) => [
    { role: 'user', content: 'Is it warm?' },
    {
      role: 'assistant',
      content: null,
      refusal: null,
      tool_calls: [{ index: 0, id: 'call_1', type: 'function', function: { name: 'get_weather', arguments: '{}' } }],
    },
    { role: 'tool', tool_call_id: 'call_1', name: 'get_weather', content },
  ]
  test('is text with auto', async () => {
    const completion = await both(app, { tools: [time], messages: history('21 degrees'), tool_choice: 'auto' })
    expect(messageOf(completion)).toMatchObject({ content: expect.stringContaining('21 degrees') })
    expect(completion.choices[0]?.finish_reason).toBe('stop')
  })

  test.each([
    ['required', 'required'],
    ['a named tool', named('get_time')],
  ])('is a call when the request demands another: %s', async (_, tool_choice) => {
    const completion = await both(app, { tools: [time], messages: history('21 degrees'), tool_choice })
    expect(messageOf(completion).tool_calls?.map((call) => call.function.name)).toEqual(['get_time'])
  })

  test("is the fixture's text when the result comes in parts", async () => {
    const parts = [
      { type: 'text', text: '21 ' },
      { type: 'text', text: 'degrees' },
    ]
    const { completion, answer } = await whole(app, { tools, messages: history(parts) })
    expect(messageOf(completion).content).toBe('The weather report says: 21 degrees')
    expect((await app.traceOf(answer)).fixture).toBe('weather/answer')
  })

  test('is a call again after a later question', async () => {
    const messages = [...history('21 degrees'), { role: 'assistant', content: 'Yes.' }, ...user('What time?').messages]
    expect(messageOf(await both(app, { tools, messages, tool_choice: 'required' })).tool_calls).toHaveLength(1)
  })
})

test.each([
  ['a fixture with only tool calls', 'calls', /^This is a/],
  ['a fixture with text and tool calls', 'both', /^I look it up\.$/],
])('tool_choice none: %s returns text and no call', async (_, user, text) => {
  const own = createTestApp({ on_unmatched: 'error' })
  const tool_calls = [{ name: 'look_up', arguments: {} }]
  const fixtures = ['chat.completions', 'responses'].flatMap((operation) => [
    { name: `${operation} calls`, match: { operation, user: 'calls' }, reply: { tool_calls } },
    { name: `${operation} both`, match: { operation, user: 'both' }, reply: { content: 'I look it up.', tool_calls } },
  ])
  const put = { method: 'PUT', headers: { 'content-type': 'application/json' }, body: JSON.stringify(fixtures) }
  expect((await own.fetch('/_understudy/fixtures', put)).status).toBe(200)
  const tools = [{ type: 'function', function: { name: 'look_up' } }]
  const chat = await own.post('/v1/chat/completions', {
    model: 'gpt-4o',
    tools,
    tool_choice: 'none',
    messages: [{ role: 'user', content: user }],
  })
  const [choice] = (chat.json() as { choices: { message: Record<string, unknown>; finish_reason: string }[] }).choices
  expect(choice?.finish_reason).toBe('stop')
  expect(choice?.message).not.toHaveProperty('tool_calls')
  expect(String(choice?.message.content)).toMatch(text)
  const flat = [{ type: 'function', name: 'look_up' }]
  const response = await own.post('/v1/responses', { model: 'gpt-4o', tools: flat, tool_choice: 'none', input: user })
  const { output } = response.json() as { output: { type: string }[] }
  expect(output.map(({ type }) => type)).toEqual(['message'])
  const called = await own.post('/v1/chat/completions', {
    model: 'gpt-4o',
    tools,
    messages: [{ role: 'user', content: user }],
  })
  expect(called.text).toContain('"tool_calls"')
  await own.close()
})
