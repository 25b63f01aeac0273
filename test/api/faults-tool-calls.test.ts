// Models that call tools badly: with invalid arguments, unknown tools, and endlessly.
import { afterAll, describe, expect, test } from 'bun:test'
import { agentSession, type ModelTurn, type StrictTask, story } from '../support/agents.ts'
import { createTestApp } from '../support/app.ts'
import type { Json } from '../support/workspace.ts'

const app = createTestApp()
afterAll(app.close)

const search = { name: 'google_search', arguments: { query: 'x' } }

/** An agent whose model says these turns through a fault, and what the scenario says of it. */
async function rehearsal(
  fault: Json,
  turns: readonly ModelTurn[],
  { when = {}, settings = {} }: { when?: Json; settings?: Json } = {},
) {
  const session = agentSession(app)
  await session.begin(turns)
  await session.ok('PUT', '/_understudy/scenario', {
    name: 'bad-day',
    clock: 'virtual',
    rules: [{ name: 'rule', when, fault }],
  })
  await session.agent({ settings: { tools: [{ type: 'current_date' }, { type: 'google_search' }], ...settings } })
  const rule = async () => ((await session.ok('GET', '/_understudy/scenario')).rules as Json[])[0]
  return { ...session, rule }
}
const toldOf = (task: StrictTask) => story(task).filter((line) => line.startsWith('tool: '))

describe('tool-wrong-arguments', () => {
  const FORMS: [Json, string][] = [
    [{}, 'the arguments of google_search do not fit its schema: '],
    [{ as: 'missing' }, 'the arguments of google_search do not fit its schema: '],
    [{ as: 'json' }, 'the arguments must be a JSON object'],
  ]
  test.each(FORMS)('%j is read by the model, which continues', async (form, words) => {
    const fault = { type: 'tool-wrong-arguments', ...form }
    const { ask, rule } = await rehearsal(fault, [[search], 'Sorry.'])
    const task = await ask('Go.')
    expect(toldOf(task)).toEqual([expect.stringContaining(words)])
    expect(task.status.state).toBe('completed')
    expect(await rule()).toMatchObject({ triggered: 2, applied: 1, skipped: { 'the response has no tool call': 1 } })
  })
})

test('unknown-tool: is answered with the list of existing tools', async () => {
  const { ask, rule } = await rehearsal({ type: 'unknown-tool', name: 'hammer' }, [[search], 'Sorry.'])
  expect(toldOf(await ask('Go.'))).toEqual([
    expect.stringContaining('there is no tool \\"hammer\\"; there are current_date'),
  ])
  expect(await rule()).toMatchObject({ applied: 1 })
})

describe('runaway', () => {
  test('ends at the limit of iterations', async () => {
    const { ask, rule } = await rehearsal({ type: 'runaway' }, ['Done.'], { settings: { max_iterations: 4 } })
    const task = await ask('Go.')
    expect(toldOf(task)).toHaveLength(4)
    expect(toldOf(task)[0]).toContain('"iso"')
    expect(task.status.state).toBe('input-required')
    expect(await rule()).toMatchObject({ applied: 4 })
  })

  test('calls the configured tool with valid arguments for as long as the rule says', async () => {
    const fault = { type: 'runaway', tool: 'google_search' }
    const { ask } = await rehearsal(fault, ['Done.'], { when: { calls: '1-2' } })
    const task = await ask('Go.')
    expect(toldOf(task)).toEqual([
      expect.stringContaining('"generated":true'),
      expect.stringContaining('"generated":true'),
    ])
    expect(story(task).at(-1)).toBe('agent: Done.')
  })

  test('reports why it does nothing', async () => {
    const { ask, rule } = await rehearsal({ type: 'runaway', tool: 'hammer' }, [[search], 'Done.'])
    expect((await ask('Go.')).status.state).toBe('completed')
    expect(await rule()).toMatchObject({
      applied: 0,
      skipped: { 'the response already calls a tool': 1, 'no tool named hammer was offered': 1 },
    })
  })
})
