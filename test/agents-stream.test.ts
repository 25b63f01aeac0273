// A task as a stream: its events in order, each in the form that clients read, up to the end mark; and the example of the README.
import { afterAll, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { agentSession, taskBody } from './support/agents.ts'
import { createTestApp, eventsOf } from './support/app.ts'
import type { Json } from './support/workspace.ts'

const app = createTestApp({ seed_file: ['none'] })
afterAll(app.close)
const strictEvent = z.strictObject({ type: z.string(), timestamp: z.iso.datetime(), data: z.looseObject({}) })

/** The events of a task that is streamed. */
async function streamed(settings: Json, turns: Parameters<ReturnType<typeof agentSession>['begin']>[0]) {
  const one = agentSession(app)
  await one.begin(turns)
  await one.agent({ settings })
  const answer = await app.post('/v2/agents/helper/stream-task', taskBody('Go.'), one.headers)
  expect([answer.status, answer.headers.get('content-type')]).toEqual([
    200,
    expect.stringContaining('text/event-stream'),
  ])
  const events = eventsOf(answer.text)
  expect(events.pop()).toBe('[DONE]')
  return { events: events.map((event) => strictEvent.parse(event)), trace: answer.headers.get('x-understudy-trace') }
}

test('tells what the turn does, up to its end', async () => {
  const { events, trace } = await streamed({ tools: [{ type: 'current_date' }] }, [[{ name: 'current_date' }], 'Done.'])
  expect(events.map(({ type }) => type)).toEqual([
    'agents.execution_started',
    'event.agents.started',
    'event.agents.message-created',
    'event.workflow_events.tool_execution_started',
    'event.workflow_events.tool_execution_finished',
    'event.agents.message-created',
    'event.agents.inactive',
  ])
  expect(events[0]?.data).toMatchObject({ agent_task_id: expect.any(String), trace_id: trace })
  expect(events[1]?.data).toMatchObject({ modelId: 'openai/gpt-4o', inputMessage: 'Go.', agent_key: 'helper' })
  expect(events.at(-1)?.data).toMatchObject({ last_message: 'Done.', finish_reason: 'stop' })
})

test('tells of what made the turn fail', async () => {
  const { events } = await streamed({}, [{ error: { status: 503, message: 'Out of capacity.' } }])
  expect(events.at(-1)).toMatchObject({
    type: 'event.agents.errored',
    data: { error: expect.stringContaining('Out of capacity.'), code: 503 },
  })
})

test('tells of a call that needs approval', async () => {
  const settings = { tool_approval_required: 'all', tools: [{ type: 'current_date' }] }
  const { events } = await streamed(settings, [[{ name: 'current_date' }]])
  expect(events.slice(-2).map(({ type }) => type)).toEqual([
    'event.agents.action_review_requested',
    'event.agents.inactive',
  ])
})

test('the example of the README prints what it says', async () => {
  const readme = readFileSync(join(import.meta.dir, '..', 'README.md'), 'utf8')
  const [, section = ''] = readme.split('### Agents run a loop')
  const [, code = ''] = /```js\n([\s\S]*?)```/.exec(section) ?? []
  const own = createTestApp({ tools: 'eager' })
  const printed: string[] = []
  const run = new Function('fetch', 'console', `return (async () => {${code}})()`)
  await run((url: string, init: RequestInit) => own.understudy.app.fetch(new Request(url, init)), {
    log: (...words: unknown[]) => printed.push(words.join(' ')),
  })
  expect(printed).toEqual(['completed user agent tool agent'])
  expect(section).toContain(`\`${printed[0]}\``)
  own.close()
})
