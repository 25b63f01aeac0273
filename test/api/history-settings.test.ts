// What becomes of conversations that providers reject: by setting, session and scenario, with what this server issued itself, and in
// front of a real provider.
import { afterAll, describe, expect, test } from 'bun:test'
import { readForwarding } from '../../src/config/providers.ts'
import type { HistoryMode } from '../../src/contract/core/history-mode.ts'
import type { Verification } from '../../src/contract/core/verification.ts'
import { agentSession } from '../support/agents.ts'
import { type Answer, type TestApp, testApps } from '../support/app.ts'
import { at, startProvider } from '../support/forward.ts'

const apps = testApps()
afterAll(() => apps.close())

type Json = Record<string, unknown>
const CHAT = '/v1/chat/completions'
const RESPONSES = '/v1/responses'
const MESSAGES = '/v1/messages'
const user = { role: 'user', content: 'What is the weather in Utrecht?' }
const tools = [{ type: 'function', function: { name: 'get_weather', parameters: { type: 'object', properties: {} } } }]
const flatTools = [{ type: 'function', name: 'get_weather', parameters: { type: 'object', properties: {} } }]
const call = (...ids: string[]) => ({
  role: 'assistant',
  content: null,
  tool_calls: ids.map((id) => ({ id, type: 'function', function: { name: 'get_weather', arguments: '{}' } })),
})
const result = (id: string) => ({ role: 'tool', tool_call_id: id, content: 'rain' })
const broken = { model: 'gpt-4o', messages: [user, call('call_1'), user] }
const inSession = (name: string) => ({ authorization: `Bearer session:${name}` })

const findingsOf = async (app: TestApp, session = 'default') => {
  const { findings } = (await app.fetch(`/s/${session}/_understudy/verify`)).json() as unknown as Verification
  return findings.filter(({ kind }) => kind === 'history-refused')
}
const errorIn = (answer: Answer) => (answer.json().error ?? {}) as Json

describe('history setting', () => {
  const rows: [setting: HistoryMode, status: number, severity: string[], rejected: boolean[]][] = [
    ['strict', 400, ['error'], [true]],
    ['lenient', 200, ['warning'], [false]],
    ['off', 200, [], []],
  ]
  test.each(rows)('%s: responds with %d and reports %p', async (history, status, severities, rejected) => {
    const app = apps.appWith({ history })
    const answer = await app.post(CHAT, broken)
    expect(answer.status).toBe(status)
    const trace = await app.traceOf(answer)
    expect(trace.attempts.flatMap(({ history: record }) => record?.rejected ?? [])).toEqual(rejected)
    expect((await findingsOf(app)).map(({ severity }) => severity)).toEqual(severities as never)
  })

  test('session: overrides the setting of the server', async () => {
    const app = apps.appWith()
    await app.fetch('/_understudy/sessions/soft', {
      method: 'PUT',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ history: 'lenient' }),
    })
    expect((await app.post(CHAT, broken, inSession('soft'))).status).toBe(200)
    expect((await app.post(CHAT, broken, inSession('other'))).status).toBe(400)
  })

  test('scenario: overrides the setting of the server, unless a flag says otherwise', async () => {
    const scenario = {
      name: 'soft',
      history: 'off',
      rules: [{ name: 'never', fault: { type: 'reset' }, when: { first: 1, every: 1_000, calls: '999' } }],
    }
    for (const [historyOverrides, status] of [
      [false, 200],
      [true, 400],
    ] as const) {
      const app = apps.appWith({ history: 'strict', historyOverrides })
      const body = JSON.stringify(scenario)
      const begun = await app.fetch('/_understudy/scenario', {
        method: 'PUT',
        headers: { 'content-type': 'application/json' },
        body,
      })
      expect(begun.status).toBe(200)
      expect((await app.post(CHAT, broken)).status).toBe(status)
    }
  })

  test('unknown mode: is rejected with the valid ones', async () => {
    const app = apps.appWith()
    const answer = await app.fetch('/_understudy/sessions/x', {
      method: 'PUT',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ history: 'loose' }),
    })
    expect(answer.status).toBe(400)
    expect(answer.text).toContain('strict')
  })
})

describe('rejected conversation', () => {
  test('gateway: falls back to a provider with other rules', async () => {
    const app = apps.appWith()
    const body = { ...broken, model: 'openai/gpt-4o', fallbacks: [{ model: 'groq/llama-3.3-70b-versatile' }] }
    const answer = await app.post('/v2/router/chat/completions', body)
    expect(answer.status).toBe(200)
    const { attempts } = await app.traceOf(answer)
    expect(attempts.map(({ target, outcome }) => [target, outcome])).toEqual([
      ['openai/gpt-4o', 'http_error'],
      ['groq/llama-3.3-70b-versatile', 'succeeded'],
    ])
    expect((await findingsOf(app)).map(({ severity }) => severity)).toEqual(['warning'])
  })

  test('gateway: renders the error of its own API', async () => {
    const app = apps.appWith()
    const answer = await app.post('/v2/router/chat/completions', { ...broken, model: 'openai/gpt-4o' })
    expect(answer.json()).toMatchObject({
      code: '400',
      error: { type: 'invalid_request_error', param: 'messages.[2].role', code: 'invalid_request_error' },
    })
  })

  test('gateway: names the field of an empty conversation, in every mode', async () => {
    for (const history of ['strict', 'lenient', 'off'] as const) {
      const app = apps.appWith({ history })
      const answer = await app.post('/v2/router/chat/completions', { model: 'openai/gpt-4o', messages: [] })
      expect(answer.status).toBe(400)
      expect(errorIn(answer)).toMatchObject({ param: 'messages', code: 'empty_array' })
    }
  })

  test('trace: names the ids, the earlier call that issued them, and how to be lenient', async () => {
    const app = apps.appWith()
    const first = await app.post(CHAT, { model: 'gpt-4o', messages: [user], tools, tool_choice: 'required' })
    const [choice] = first.json().choices as { message: { tool_calls: { id: string }[] } & Json }[]
    const [{ id = '' } = {}] = choice?.message.tool_calls ?? []
    const answer = await app.post(CHAT, { model: 'gpt-4o', messages: [user, choice?.message, user], tools })
    const issuer = first.headers.get('x-understudy-trace')
    const { attempts } = await app.traceOf(answer)
    expect(attempts[0]?.history).toMatchObject({ ids: [id], traces: [issuer], path: 'messages[2]' })
    expect(attempts[0]?.history?.hint).toContain('--history lenient')
    const [finding] = await findingsOf(app)
    expect(finding?.message).toContain(`${id}, from the response of ${issuer}`)
    expect(finding?.message).toContain('--history lenient')
  })

  test('client of Anthropic: has the ids of its earlier response traced', async () => {
    const app = apps.appWith()
    const ask = {
      model: 'claude-sonnet-4-5',
      max_tokens: 500,
      tools: [{ name: 'get_weather', input_schema: { type: 'object' } }],
    }
    const first = await app.post(MESSAGES, { ...ask, tool_choice: { type: 'any' }, messages: [user] })
    const { content } = first.json()
    const answer = await app.post(MESSAGES, { ...ask, messages: [user, { role: 'assistant', content }, user] })
    const { attempts } = await app.traceOf(answer)
    expect(attempts[0]?.history?.traces).toEqual([first.headers.get('x-understudy-trace') ?? ''])
  })

  test('call of a compatible API to a model of another: is judged by the rules of that provider', async () => {
    const app = apps.appWith()
    const rows: [string, Json, string][] = [
      [CHAT, { ...broken, model: 'anthropic/claude-sonnet-4-5' }, 'messages.1: `tool_use` ids were found without'],
      [
        RESPONSES,
        {
          model: 'anthropic/claude-sonnet-4-5',
          input: [user, { type: 'function_call', call_id: 'call_1', name: 'a', arguments: '{}' }, user],
        },
        'messages.1: `tool_use` ids were found without',
      ],
      [
        MESSAGES,
        {
          model: 'openai/gpt-4o',
          max_tokens: 100,
          messages: [
            user,
            { role: 'assistant', content: [{ type: 'tool_use', id: 'toolu_1', name: 'a', input: {} }] },
            user,
          ],
        },
        "An assistant message with 'tool_calls' must be followed",
      ],
    ]
    for (const [path, body, message] of rows) {
      const answer = await app.post(path, body)
      expect(answer.status).toBe(400)
      expect(errorIn(answer).message).toContain(message)
    }
  })
})

describe('parameter that a model does not support', () => {
  const rows: [path: string, body: Json, error: Json][] = [
    [
      CHAT,
      { model: 'gpt-5', messages: [user], max_tokens: 100 },
      {
        code: 'unsupported_parameter',
        param: 'max_tokens',
        message:
          "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
      },
    ],
    [
      RESPONSES,
      { model: 'gpt-5', input: 'Hello', temperature: 0.5 },
      {
        code: null,
        param: 'temperature',
        message: "Unsupported parameter: 'temperature' is not supported with this model.",
      },
    ],
    [
      MESSAGES,
      {
        model: 'claude-sonnet-4-5',
        max_tokens: 1024,
        thinking: { type: 'enabled', budget_tokens: 1024 },
        messages: [user],
      },
      { message: expect.stringContaining('`max_tokens` must be greater than `thinking.budget_tokens`') },
    ],
  ]
  test.each(rows)('%s: is rejected in the words of the provider', async (path, body, error) => {
    const app = apps.appWith()
    const answer = await app.post(path, body)
    expect(answer.status).toBe(400)
    expect(errorIn(answer)).toMatchObject({ type: 'invalid_request_error', ...error })
    const { attempts } = await app.traceOf(answer)
    expect(attempts[0]?.history?.source).toStartWith('https://')
    const lenient = apps.appWith({ history: 'lenient' })
    expect((await lenient.post(path, body)).status).toBe(200)
    expect((await findingsOf(lenient)).map(({ severity }) => severity)).toEqual(['warning'])
  })

  test('gateway: translates it, and accepts it', async () => {
    const app = apps.appWith()
    const body = { model: 'openai/gpt-5', messages: [user], max_tokens: 100 }
    expect((await app.post('/v2/router/chat/completions', body)).status).toBe(200)
  })

  test('unknown parameter: is accepted', async () => {
    const app = apps.appWith()
    expect((await app.post(CHAT, { model: 'gpt-5', messages: [user], brand_new: { deep: 1 } })).status).toBe(200)
  })
})

describe('reference to what this server issued', () => {
  const respond = async (app: TestApp, body: Json) => app.post(RESPONSES, { model: 'gpt-5', tools: flatTools, ...body })
  const itemsOf = (answer: Answer) => answer.json().output as (Json & { type: string; id: string; call_id?: string })[]
  const encrypted = { include: ['reasoning.encrypted_content'], reasoning: { effort: 'high' } }

  test('previous response: needs the output of its calls, which may come at once', async () => {
    const app = apps.appWith()
    const first = await respond(app, { input: 'Weather?', tool_choice: 'required' })
    const previous_response_id = first.json().id
    const callId = itemsOf(first).find(({ type }) => type === 'function_call')?.call_id
    const output = { type: 'function_call_output', call_id: callId, output: 'rain' }
    expect((await respond(app, { previous_response_id, input: [output] })).status).toBe(200)
    const answer = await respond(app, { previous_response_id, input: 'Never mind.' })
    expect([answer.status, errorIn(answer).message]).toEqual([400, `No tool output found for function call ${callId}.`])
  })

  test('output: may name a call of an earlier step of the chain', async () => {
    const app = apps.appWith()
    const first = await respond(app, { input: 'Weather?', tool_choice: 'required' })
    const callId = itemsOf(first).find(({ type }) => type === 'function_call')?.call_id
    const output = { type: 'function_call_output', call_id: callId, output: 'rain' }
    const second = await respond(app, { previous_response_id: first.json().id, input: [output] })
    expect((await respond(app, { previous_response_id: second.json().id, input: [output] })).status).toBe(200)
  })

  test('item reference: is found when stored, and rejected when store was false', async () => {
    const app = apps.appWith()
    for (const [store, status] of [
      [true, 200],
      [false, 404],
    ] as const) {
      const first = await respond(app, { input: 'Hello', store })
      const id = itemsOf(first).at(-1)?.id
      const answer = await respond(app, { input: [user, { type: 'item_reference', id }, user] })
      expect(answer.status).toBe(status)
    }
    expect((await findingsOf(app)).length).toBe(1)
  })

  test('response of another process: is not found, and no finding', async () => {
    const app = apps.appWith()
    const lost = 'resp_01JGFJJZ00APG46GEVP90XKDZ1'
    const answer = await respond(app, { previous_response_id: lost, input: 'Go on.' })
    expect([answer.status, errorIn(answer).code]).toEqual([400, 'previous_response_not_found'])
    expect(
      (await respond(app, { input: [user, { type: 'item_reference', id: 'rs_01JGFJJZ00APG46GEVP90XKDZ1_0' }, user] }))
        .status,
    ).toBe(200)
    expect(await findingsOf(app)).toEqual([])
  })

  test('response that was not stored: is not found, and the trace says why', async () => {
    const app = apps.appWith()
    const { id } = (await respond(app, { input: 'Hello', store: false })).json()
    const answer = await respond(app, { input: 'Go on.', previous_response_id: id })
    expect(answer.status).toBe(400)
    const { attempts } = await app.traceOf(answer)
    expect(attempts[0]?.history?.hint).toContain('store: false')
  })

  test('call with its id: needs the reasoning item before it', async () => {
    const app = apps.appWith()
    const first = await respond(app, { input: 'Weather?', tool_choice: 'required', reasoning: { effort: 'high' } })
    const [reasoning, made] = itemsOf(first)
    expect([reasoning?.type, made?.type]).toEqual(['reasoning', 'function_call'])
    const output = { type: 'function_call_output', call_id: made?.call_id, output: 'rain' }
    expect((await respond(app, { input: [user, reasoning, made, output] })).status).toBe(200)
    const answer = await respond(app, { input: [user, made, output] })
    expect(errorIn(answer).message).toBe(
      `Item '${made?.id}' of type 'function_call' was provided without its required 'reasoning' item: '${reasoning?.id}'.`,
    )
    const { id: _, ...withoutId } = made ?? {}
    expect((await respond(app, { input: [user, withoutId, output] })).status).toBe(200)
  })

  test('encrypted reasoning: is judged only if this server issued it', async () => {
    const app = apps.appWith()
    const first = await respond(app, { input: 'Hello', store: false, ...encrypted })
    const [reasoning, message] = itemsOf(first)
    const again = (content: unknown) =>
      respond(app, { input: [user, { ...reasoning, encrypted_content: content }, message, user], store: false })
    const sent = String(reasoning?.encrypted_content)
    expect((await again(sent)).status).toBe(200)
    expect((await again('gAAAAABo-foreign-content')).status).toBe(200)
    const changed = `${sent.startsWith('M') ? 'N' : 'M'}${sent.slice(1)}`
    expect(errorIn(await again(changed)).code).toBe('invalid_encrypted_content')
  })

  test('thinking: is judged only if this server signed it', async () => {
    const app = apps.appWith()
    const ask = { model: 'claude-sonnet-4-5', max_tokens: 3000, thinking: { type: 'enabled', budget_tokens: 1024 } }
    const first = await app.post(MESSAGES, { ...ask, messages: [user] })
    const [thought, ...others] = first.json().content as Json[]
    expect(thought?.type).toBe('thinking')
    const again = (block: object) =>
      app.post(MESSAGES, { ...ask, messages: [user, { role: 'assistant', content: [block, ...others] }, user] })
    expect((await again(thought ?? {})).status).toBe(200)
    expect((await again({ ...thought, signature: 'EqQBCgIYAhIM' })).status).toBe(200)
    const answer = await again({ ...thought, thinking: 'Something else.' })
    expect([answer.status, errorIn(answer).message]).toEqual([
      400,
      'messages.1.content.0: Invalid `signature` in `thinking` block',
    ])
  })
})

describe('valid conversation', () => {
  const claude = { model: 'claude-sonnet-4-5', max_tokens: 100 }
  const use = (id: string) => ({ type: 'tool_use', id, name: 'get_weather', input: {} })
  const resultOf = (id: string, more: Json = {}) => ({ type: 'tool_result', tool_use_id: id, ...more })
  const rows: [title: string, path: string, body: Json][] = [
    [
      'parallel results in any order',
      CHAT,
      { ...broken, messages: [user, call('a', 'b'), result('b'), result('a'), user] },
    ],
    ['consecutive user messages', CHAT, { ...broken, messages: [user, user] }],
    ['an assistant message at the end', CHAT, { ...broken, messages: [user, { role: 'assistant', content: 'It' }] }],
    ['a legacy function result', CHAT, { ...broken, messages: [user, { role: 'function', name: 'f', content: 'x' }] }],
    [
      'a prefix of Mistral',
      CHAT,
      { model: 'mistral/mistral-large-latest', messages: [user, { role: 'assistant', content: 'It', prefix: true }] },
    ],
    [
      'a long id of another model',
      CHAT,
      { model: 'gpt-4.1', messages: [user, call('x'.repeat(60)), result('x'.repeat(60))] },
    ],
    [
      'results in two user messages',
      MESSAGES,
      {
        ...claude,
        messages: [
          user,
          { role: 'assistant', content: [use('a'), use('b')] },
          { role: 'user', content: [resultOf('a')] },
          { role: 'user', content: [resultOf('b')] },
        ],
      },
    ],
    [
      'text after the results',
      MESSAGES,
      {
        ...claude,
        messages: [
          user,
          { role: 'assistant', content: [use('a')] },
          { role: 'user', content: [resultOf('a'), { type: 'text', text: 'Go on.' }] },
        ],
      },
    ],
    [
      'an empty result',
      MESSAGES,
      {
        ...claude,
        messages: [user, { role: 'assistant', content: [use('a')] }, { role: 'user', content: [resultOf('a')] }],
      },
    ],
    ['a prefill of an older model', MESSAGES, { ...claude, messages: [user, { role: 'assistant', content: 'It' }] }],
    ['an assistant message first', MESSAGES, { ...claude, messages: [{ role: 'assistant', content: 'Hello.' }, user] }],
    [
      'a system message of a newer model',
      MESSAGES,
      { ...claude, model: 'claude-opus-4-8', messages: [user, { role: 'system', content: 'Be brief.' }] },
    ],
    [
      'an unknown model of Anthropic',
      MESSAGES,
      { ...claude, model: 'claude-next', messages: [user, { role: 'assistant', content: 'It' }] },
    ],
    [
      'outputs before the next user message',
      RESPONSES,
      {
        model: 'gpt-4o',
        input: [
          user,
          ...['a', 'b'].map((id) => ({ type: 'function_call', call_id: id, name: 'f', arguments: '{}' })),
          ...['b', 'a'].map((id) => ({ type: 'function_call_output', call_id: id, output: 'x' })),
          user,
        ],
      },
    ],
    [
      'an unknown provider of compatible models',
      CHAT,
      { model: 'groq/llama-3.3-70b-versatile', messages: [user, call('a'), user] },
    ],
  ]
  const app = apps.appWith()
  test.each(rows)('%s: is accepted', async (_, path, body) => {
    const answer = await app.post(path, body)
    expect(answer.status === 200 ? '' : answer.text).toBe('')
  })
})

describe('forwarded conversation', () => {
  test('direct and gateway calls: are decided by the provider, with a finding', async () => {
    const completion = {
      ...{ id: 'c', object: 'chat.completion', created: 1, model: 'gpt-4o' },
      choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'Rain.' } }],
    }
    const provider = startProvider(() => Response.json(completion))
    try {
      const section = { value: { openai: at(provider.url) }, locationOf: () => '' }
      const forwarding = readForwarding({ section, backend: 'fixture', environment: {} })
      const app = apps.appWith({ clock: 'real', skip_latency: false, forwarding })
      expect((await app.post(CHAT, broken)).status).toBe(200)
      expect((await app.post('/v2/router/chat/completions', { ...broken, model: 'openai/gpt-4o' })).status).toBe(200)
      const findings = await findingsOf(app)
      expect(findings.map(({ severity, count }) => [severity, count])).toEqual([['warning', 2]])
      expect(findings[0]?.message).toContain('would reject')
    } finally {
      provider.stop()
    }
  })
})

describe('agents of this server', () => {
  test.each(['openai/gpt-4o', 'anthropic/claude-opus-4-6', 'mistral/mistral-large-latest'])(
    '%s: a task with parallel tools and a second turn sends conversations that no provider rejects',
    async (model) => {
      const app = apps.appWith()
      const one = agentSession(app)
      const date = { name: 'current_date', arguments: {} }
      await one.begin([[date, date], 'It is today.', [date], 'Still today.'])
      await one.agent({ model, settings: { tools: [{ type: 'current_date' }] } })
      const task = await one.ask('Which day is it?')
      expect(task.status.state).toBe('completed')
      await one.ask('And now?', { task_id: task.id })
      const { data } = (await one.ok('GET', `/_understudy/traces?all=true&session=${one.name}`)) as {
        data: { operation: string; attempts: { history?: object }[] }[]
      }
      const models = data.filter(({ operation }) => operation === 'chat.completions')
      expect(models.length).toBeGreaterThanOrEqual(4)
      expect(models.flatMap(({ attempts }) => attempts.flatMap(({ history }) => history ?? []))).toEqual([])
    },
  )
})
