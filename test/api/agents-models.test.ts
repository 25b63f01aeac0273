// The models of an agent: which are valid, the parameters of each, and how settings are combined.
import { afterAll, describe, expect, test } from 'bun:test'
import type { StoredTrace } from '../../src/contract/core/trace.ts'
import { type AgentSession, agentSession } from '../support/agents.ts'
import { createTestApp } from '../support/app.ts'
import type { Json } from '../support/workspace.ts'

const app = createTestApp()
afterAll(app.close)

/** An agent with these fields; its task is asked once, and the model's calls of it are given. */
async function callsOf(one: AgentSession, fields: Json, message = 'Hello.'): Promise<StoredTrace[]> {
  await one.agent(fields)
  const { status } = await one.call('POST', '/v2/agents/helper/task', {
    message: { role: 'user', parts: [{ kind: 'text', text: message }] },
    configuration: { blocking: true },
  })
  expect(status).toBe(200)
  const { data } = (await one.ok('GET', `/_understudy/traces?all=true&session=${one.name}`)) as {
    data: { id: string; operation: string; session: string }[]
  }
  const calls = data.filter(({ operation, session }) => operation === 'chat.completions' && session === one.name)
  return Promise.all(
    calls.map(({ id }) => one.ok('GET', `/_understudy/traces/${id}`) as Promise<unknown> as Promise<StoredTrace>),
  )
}
const down = (...models: string[]) => ({
  name: 'down',
  rules: models.map((model) => ({ name: model, match: { model }, fault: { type: 'http-error', status: 503 } })),
})

describe('agent parameters', () => {
  const WRONG: [string, unknown][] = [
    ['temperature', 3],
    ['temperature', 'hot'],
    ['top_p', -1],
    ['top_k', 1.5],
    ['max_tokens', 0],
    ['max_completion_tokens', 'many'],
    ['frequency_penalty', 2.1],
    ['presence_penalty', -3],
    ['response_format', { type: 'xml' }],
    ['reasoning_effort', 'enormous'],
    ['verbosity', 3],
    ['seed', 'one'],
    ['stop', ['1', '2', '3', '4', '5']],
    ['thinking', { type: 'maybe' }],
    ['tool_choice', 'sometimes'],
    ['parallel_tool_calls', 'yes'],
    ['modalities', ['smell']],
    ['guardrails', [{ id: 'svc_pii_detection', execute_on: 'lunch' }]],
    ['fallbacks', [{ model: 'gpt-4o' }]],
    ['cache', { type: 'fuzzy' }],
    ['load_balancer', { type: 'by_mood', models: [] }],
    ['timeout', { call_timeout: 'soon' }],
    ['name', 7],
  ]
  test.each(WRONG)('%s: %j is rejected on create, update and as a fallback', async (name, value) => {
    const one = agentSession(app)
    const model = { id: 'openai/gpt-4o', parameters: { [name]: value } }
    const place = (param: unknown) => expect(String(param)).toContain(name)
    const refused = async (method: 'POST' | 'PATCH', path: string, body: Json) => {
      const answer = await one.call(method, path, body)
      expect(answer.status).toBe(400)
      place((answer.body.error as Json).param)
    }
    const body = { key: 'a', role: 'r', description: 'd', instructions: '', path: 'Default', settings: {} }
    await refused('POST', '/v2/agents', { ...body, model })
    await refused('POST', '/v2/agents', { ...body, model: 'openai/gpt-4o', fallback_models: [model] })
    await one.agent()
    await refused('PATCH', '/v2/agents/helper', { model })
  })

  test('are sent to the model, with the name of the call', async () => {
    const one = agentSession(app)
    const [call] = await callsOf(one, {
      model: { id: 'openai/gpt-4o', parameters: { name: 'greeter', temperature: 0.25, max_tokens: 20 } },
    })
    expect(call).toMatchObject({ name: 'greeter', request: { temperature: 0.25, max_tokens: 20 } })
  })

  test('add their guardrails to those of the settings', async () => {
    const one = agentSession(app)
    const guardrails = [{ id: 'svc_pii_detection', execute_on: 'input' }]
    await one.agent({
      model: { id: 'openai/gpt-4o', parameters: { guardrails } },
      settings: { guardrails: [{ id: 'svc_harmful_moderation', execute_on: 'output', sample_rate: 100 }] },
    })
    const task = await one.ask('My e-mail is ada@example.com and my card is 4111 1111 1111 1111.')
    expect(task.status.state).toBe('failed')
    const { data } = (await one.ok('GET', `/_understudy/traces?all=true&session=${one.name}`)) as {
      data: StoredTrace[]
    }
    const looked = data.flatMap((trace) => trace.guardrails.map(({ id }) => id))
    expect(looked).toContain('svc_pii_detection')
  })

  test('accept only existing guardrails', async () => {
    const one = agentSession(app)
    const model = { id: 'openai/gpt-4o', parameters: { guardrails: [{ id: 'nobody', execute_on: 'input' }] } }
    const { status, body } = await one.call('POST', '/v2/agents', {
      ...{ key: 'a', role: 'r', description: 'd', instructions: '', path: 'Default', settings: {}, model },
    })
    expect([status, (body.error as Json).param]).toEqual([404, 'model.parameters.guardrails[0].id'])
  })
})

describe('agent fallbacks', () => {
  test('of the agent are tried before those of the parameters', async () => {
    const one = agentSession(app)
    await one.ok('POST', '/_understudy/sessions', {
      name: one.name,
      clock: 'virtual',
      scenario: down('openai/gpt-4o', 'openai/gpt-4.1', 'anthropic/claude-sonnet-4'),
    })
    const [call] = await callsOf(one, {
      model: {
        id: 'openai/gpt-4o',
        parameters: { fallbacks: [{ model: 'anthropic/claude-sonnet-4' }, { model: 'google/gemini-2.5-pro' }] },
      },
      fallback_models: ['openai/gpt-4.1'],
    })
    expect(call?.attempts.map(({ target }) => target)).toEqual([
      'openai/gpt-4o',
      'openai/gpt-4.1',
      'anthropic/claude-sonnet-4',
      'google/gemini-2.5-pro',
    ])
  })

  test('have parameters and retries of their own', async () => {
    const one = agentSession(app)
    const content = '{{call.model}} {{call.temperature}} {{call.max_tokens}}'
    await one.ok('POST', '/_understudy/sessions', {
      name: one.name,
      clock: 'virtual',
      scenario: {
        name: 'down',
        rules: [
          { name: 'first', match: { model: 'openai/gpt-4o' }, fault: { type: 'http-error', status: 503 } },
          {
            name: 'second',
            match: { model: 'openai/gpt-4.1' },

            fault: { type: 'http-error', status: 500 },
          },
        ],
      },
      fixtures: [{ name: 'echo', match: { operation: 'chat.completions' }, reply: { content } }],
    })
    await one.agent({
      model: { id: 'openai/gpt-4o', parameters: { temperature: 0, max_tokens: 30 } },
      fallback_models: [
        { id: 'openai/gpt-4.1', parameters: { temperature: 1 }, retry: { count: 1, on_codes: [500] } },
        { id: 'google/gemini-2.5-pro', parameters: { temperature: 2 } },
      ],
    })
    await one.ask('Hello.')
    const { data } = (await one.ok('GET', `/_understudy/traces?all=true&session=${one.name}`)) as {
      data: StoredTrace[]
    }
    const call = data.find(({ operation }) => operation === 'chat.completions')
    expect(call?.attempts.map(({ target, reason: why }) => [target, why])).toEqual([
      ['openai/gpt-4o', 'first'],
      ['openai/gpt-4.1', 'fallback'],
      ['openai/gpt-4.1', 'retry'],
      ['google/gemini-2.5-pro', 'fallback'],
    ])
    const trace = (await one.ok('GET', `/_understudy/traces/${call?.id}`)) as unknown as StoredTrace
    expect(JSON.stringify(trace.response)).toContain('google/gemini-2.5-pro 2 30')
  })
})

describe('agent model', () => {
  const NOT = [
    'openai/whisper-1',
    'openai/gpt-3.5-turbo-instruct',
    'openai/gpt-4o-mini-tts',
    'openai/gpt-4o-transcribe',
    'openai/gpt-4o-search-preview',
    'openai/text-embedding-3-small',
    'openai/omni-moderation-latest',
    'openai/dall-e-3',
    'perplexity/sonar-pro',
    'groq/whisper-large-v3',
    'cohere/embed-v4.0',
    'together/black-forest-labs/FLUX.1-schnell',
  ]
  const body = { key: 'a', role: 'r', description: 'd', instructions: '', path: 'Default', settings: {} }
  test.each(NOT)('%s is rejected because it cannot call tools', async (id) => {
    const one = agentSession(app)
    const gpt = 'openai/gpt-4o'
    const TRIED: [Json, string][] = [
      [{ model: id }, 'model'],
      [{ model: { id } }, 'model.id'],
      [{ model: gpt, fallback_models: [gpt, id] }, 'fallback_models[1]'],
      [{ model: gpt, fallback_models: [{ id }] }, 'fallback_models[0].id'],
      [{ model: { id: gpt, parameters: { fallbacks: [{ model: id }] } } }, 'model.parameters.fallbacks[0].model'],
    ]
    for (const [fields, param] of TRIED) {
      const answer = await one.call('POST', '/v2/agents', { ...body, ...fields })
      expect([answer.status, answer.body.message, (answer.body.error as Json).param]).toEqual([
        400,
        `'${param}' must be a model that can call tools, got "${id}"`,
        param,
      ])
    }
  })
  test.each([
    'openai/gpt-4o',
    'openai/gpt-99',
    'anthropic/claude-sonnet-5',
    'ollama/llama3',
    'mine/anything',
    'groq/llama-3.3-70b-versatile',
  ])('%s is accepted because it can call tools', async (model) => {
    const one = agentSession(app)
    expect((await one.call('POST', '/v2/agents', { ...body, model })).status).toBe(201)
  })
})

describe('agent variables', () => {
  test('are removed when the instructions no longer name them, except given ones', async () => {
    const one = agentSession(app)
    const made = await one.agent({ instructions: '{{a}} {{b}}', variables: { b: 'B', own: 1 } })
    expect(made.variables).toEqual({ a: null, b: 'B', own: 1 })
    const changed = await one.ok('PATCH', '/v2/agents/helper', { instructions: '{{c}}' })
    expect(changed.variables).toEqual({ c: null, b: 'B', own: 1 })
    const again = await one.ok('PATCH', '/v2/agents/helper', { system_prompt: '{{d}}', instructions: 'None.' })
    expect(again.variables).toEqual({ d: null, b: 'B', own: 1 })
  })
})
