// Evaluators and guardrails of an agent: they sample a share of its iterations, reproducibly.
import { afterAll, describe, expect, test } from 'bun:test'
import type { StoredTrace } from '../../src/contract/core/trace.ts'
import { type AgentSession, agentSession, type StrictTask } from '../support/agents.ts'
import { createTestApp } from '../support/app.ts'
import type { Json } from '../support/workspace.ts'

const app = createTestApp()
afterAll(app.close)

const ITERATIONS = 30
/** What the model says when it is asked as a judge, before the turns of the agent. */
const verdict = {
  name: 'verdict',
  match: { operation: 'chat.completions', model: 'openai/gpt-4o-mini' },
  reply: { content: 'true' },
}

/** A session with an agent of many iterations, and a judge and a schema as its evaluators. */
async function evaluated(evaluators: readonly Json[], settings: Json = {}, name?: string) {
  const one = agentSession(app, settings, name)
  await one.begin([...Array(ITERATIONS - 1).fill([{ name: 'current_date' }]), '{"fine":true}'], [verdict])
  const judge = {
    key: 'judge',
    type: 'llm_eval',
    mode: 'single',
    model: 'openai/gpt-4o-mini',
    prompt: 'Fine? {{log.output}}',
  }
  await one.ok('POST', '/v2/evaluators', { ...judge, output_type: 'boolean', path: 'Default' })
  await one.ok('POST', '/v2/evaluators', {
    key: 'shape',
    type: 'json_schema',
    schema: { type: 'object' },
    path: 'Default',
  })
  await one.agent({ settings: { tools: [{ type: 'current_date' }], evaluators } })
  return one
}
const stepsOf = async (one: AgentSession, task: StrictTask) => {
  const trace = (await one.ok('GET', `/_understudy/traces/${task.metadata?.trace_id}`)) as unknown as StoredTrace
  return trace.task?.steps.filter(({ kind }) => kind === 'model') ?? []
}
/** The iterations that an evaluator has looked at. */
const lookedAt = async (one: AgentSession, task: StrictTask, id: string) =>
  (await stepsOf(one, task)).flatMap(({ iteration, evaluations = [] }) =>
    evaluations.some((found) => found.id === id) ? [iteration] : [],
  )

describe('evaluator of an agent', () => {
  test('samples its share of the iterations, the same ones every run', async () => {
    const rates = [100, 30, 1].map((sample_rate) => ({ id: 'shape', execute_on: 'output', sample_rate }))
    const counts: number[] = []
    for (const [index, check] of rates.entries()) {
      const play = async () => {
        const one = await evaluated([check], { seed: 5 }, `share-${index}`)
        const task = await one.ask('Go.')
        const found = await lookedAt(one, task, 'shape')
        await one.call('DELETE', `/_understudy/sessions/${one.name}`)
        return found
      }
      const first = await play()
      expect(await play()).toEqual(first)
      counts.push(first.length)
    }
    expect(counts[0]).toBe(ITERATIONS)
    expect(counts[1]).toBeGreaterThan(ITERATIONS / 10)
    expect(counts[1]).toBeLessThan(ITERATIONS / 2)
    expect(counts[2]).toBeLessThan(4)
  })

  test('judges the messages of the user or of the agent, and calls its model within the turn', async () => {
    const one = await evaluated([
      { id: 'shape', execute_on: 'input', sample_rate: 100 },
      { id: 'judge', execute_on: 'output', sample_rate: 100 },
    ])
    const task = await one.ask('[1]')
    const last = (await stepsOf(one, task)).at(-1)
    const [shape, judge] = last?.evaluations ?? []
    expect([shape?.value, judge?.value]).toEqual([false, true])
    const inner = (await one.ok('GET', `/_understudy/traces/${judge?.traces[0]}`)) as unknown as StoredTrace
    expect(inner).toMatchObject({ parent: task.metadata?.trace_id, internal: true, fixture: 'verdict' })
    expect(JSON.stringify(inner.request)).toContain('fine')
    expect(task.status.state).toBe('completed')
  })

  test('keeps ids reproducible together with a contact, whatever else is called', async () => {
    const evaluators = [{ id: 'judge', execute_on: 'output', sample_rate: 100 }]
    const guardrails = [{ id: 'guard', execute_on: 'input', sample_rate: 100 }]
    const play = async (beside: number) => {
      const one = await evaluated(evaluators, { seed: 9 }, 'keyed')
      await one.ok('POST', '/v2/evaluators', {
        ...{ key: 'guard', type: 'llm_eval', mode: 'single', model: 'openai/gpt-4o-mini', output_type: 'boolean' },
        ...{ prompt: 'Fine? {{log.output}}', path: 'Default' },
        guardrail_config: { enabled: true, type: 'boolean', value: true },
      })
      await one.ok('PATCH', '/v2/agents/helper', { settings: { guardrails } })
      const messages = [{ role: 'user', content: 'Beside.' }]
      const asked = { model: 'openai/gpt-4o-mini', messages, identity: { id: 'grace' } }
      for (let call = 0; call < beside; call++) await one.ok('POST', '/v2/router/chat/completions', asked)
      const task = await one.ask('Go.', { identity: { id: 'ada' } })
      const steps = await stepsOf(one, task)
      const guarded = (await one.ok('GET', `/_understudy/traces/${steps[0]?.trace}`)) as unknown as StoredTrace
      const { data } = await one.ok('GET', '/v2/contacts')
      await one.call('DELETE', `/_understudy/sessions/${one.name}`)
      return [
        steps.map(({ evaluations = [] }) => evaluations[0]?.traces),
        guarded.guardrails.map(({ evaluation }) => evaluation?.traces),
        (data as Json[]).find(({ external_id }) => external_id === 'ada')?._id,
      ]
    }
    const alone = await play(0)
    expect(alone.flat(3).filter((id) => typeof id === 'string')).toHaveLength(ITERATIONS + 2)
    expect(await play(3)).toEqual(alone)
  })

  test('reports that it was deleted without ending the task', async () => {
    const one = await evaluated([{ id: 'shape', execute_on: 'output', sample_rate: 100 }])
    const { data } = await one.ok('GET', '/v2/evaluators')
    const gone = (data as Json[]).find(({ key }) => key === 'shape')
    await one.ok('DELETE', `/v2/evaluators/${gone?._id}`)
    const task = await one.ask('Go.')
    expect(task.status.state).toBe('completed')
    const [step] = await stepsOf(one, task)
    expect(step?.evaluations).toMatchObject([{ id: 'shape', value: null, reason: expect.stringContaining('"shape"') }])
  })
})

describe('guardrail of an agent', () => {
  const MAIL = 'Write to ada@example.com.'
  test.each<[execute_on: string, asked: string, said: string]>([
    ['input', MAIL, 'Done.'],
    ['output', 'Whom do I write to?', MAIL],
  ])('on the %s fails the turn and reports what it found', async (execute_on, asked, said) => {
    const one = agentSession(app)
    await one.begin([said])
    await one.agent({ settings: { guardrails: [{ id: 'svc_pii_detection', execute_on, sample_rate: 100 }] } })
    const task = await one.ask(asked)
    expect(task.status.state).toBe('failed')
    expect(task.status.message?.parts).toMatchObject([{ kind: 'error', code: 'guardrail_violation' }])
    const [step] = await stepsOf(one, task)
    const inner = (await one.ok('GET', `/_understudy/traces/${step?.trace}`)) as unknown as StoredTrace
    expect(inner).toMatchObject({ status: 422, guardrails: [{ stage: execute_on, outcome: 'blocked' }] })
    // The turn has ended; the task goes on.
    expect((await one.ask('Hello.', { task_id: task.id })).messages?.length).toBeGreaterThan(1)
  })

  test('checks only its share of the iterations', async () => {
    const one = agentSession(app, { seed: 9 })
    await one.begin([...Array(ITERATIONS - 1).fill([{ name: 'current_date' }]), 'Done.'])
    const guardrails = [{ id: 'svc_harmful_moderation', execute_on: 'input', sample_rate: 50 }]
    await one.agent({ settings: { tools: [{ type: 'current_date' }], guardrails } })
    const steps = await stepsOf(one, await one.ask('Go.'))
    let looked = 0
    for (const { trace } of steps) {
      const inner = (await one.ok('GET', `/_understudy/traces/${trace}`)) as unknown as StoredTrace
      looked += inner.guardrails.length
    }
    expect(looked).toBeGreaterThan(ITERATIONS / 5)
    expect(looked).toBeLessThan(ITERATIONS * 0.8)
  })
})
