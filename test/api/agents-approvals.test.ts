// A decision about a tool call that was answered with 200 stays in effect, whenever it arrives and whatever the task is doing.
import { afterAll, describe, expect, test } from 'bun:test'
import { agentSession, type StrictTask } from '../support/agents.ts'
import { createTestApp } from '../support/app.ts'
import type { Json } from '../support/workspace.ts'

const app = createTestApp({ clock: 'real' })
afterAll(app.close)

interface Decision {
  call: number
  decision: 'approve' | 'reject'
  /** Turns of the event loop before it. */
  pause: number
}
const turnOfLoop = () => new Promise((resolve) => setImmediate(resolve))
/** How long the tool of each call takes. */
const DURATIONS = ['0ms', '1ms', '3ms', '8ms']

/** A task whose model has asked for as many calls of tools as there are decisions, all of which wait. */
async function waiting(count: number) {
  const one = agentSession(app, { clock: 'real' })
  const calls = Array.from({ length: count }, (_, index) => ({
    name: 'google_search',
    arguments: { query: `q${index}` },
  }))
  const fixtures = calls.map(({ arguments: { query } }, index) => ({
    match: { operation: 'agents.tools', arguments: { query } },
    reply: { result: `result of ${query}`, timing: { duration: DURATIONS[index % DURATIONS.length] } },
  }))
  await one.begin([calls, 'Done.'], fixtures)
  await one.agent({ settings: { tool_approval_required: 'all', tools: [{ type: 'google_search' }] } })
  const task = await one.ask('Search.')
  const ids = (task.status.message?.parts ?? []).flatMap((part) =>
    part.kind === 'tool_call' ? [part.tool_call_id] : [],
  )
  expect(ids).toHaveLength(count)
  const decide = (index: number, decision: string) =>
    one.call('POST', `/_understudy/tasks/${task.id}/${decision}`, { tool_call_id: ids[index] })
  return { one, task, ids, decide }
}

/** What each call has come to, by its id; fails when one has two results. */
function resultsOf({ messages = [] }: StrictTask): Record<string, unknown> {
  const parts = messages.flatMap((message) => message.parts).filter((part) => part.kind === 'tool_result')
  const results = Object.fromEntries(parts.map((part) => [part.tool_call_id, part.result]))
  expect(Object.keys(results)).toHaveLength(parts.length)
  return results
}
const REJECTED = { error: 'the call was rejected' }
const expectedOf = (ids: readonly string[], decisions: readonly Decision[]): Json =>
  Object.fromEntries(
    decisions.map(({ call, decision }) => [ids[call], decision === 'approve' ? `result of q${call}` : REJECTED]),
  )

/** Numbers that look random: the same ones each time. */
function numbers(seed: number) {
  let state = seed + 1
  return (below: number) => {
    state = (state * 48_271) % 2_147_483_647
    return state % below
  }
}
function decisionsOf(seed: number): Decision[] {
  const next = numbers(seed * 7919)
  const count = 2 + next(4)
  const order = Array.from({ length: count }, (_, index) => index)
  for (let index = count - 1; index > 0; index--) {
    const other = next(index + 1)
    const [a, b] = [order[index], order[other]] as [number, number]
    order[index] = b
    order[other] = a
  }
  return order.map((call) => ({
    call,
    decision: next(3) === 0 ? 'reject' : 'approve',
    pause: next(3) === 0 ? 0 : next(60),
  }))
}

describe('approval decision that was answered with 200', () => {
  test.each(Array.from({ length: 40 }, (_, seed) => seed))(
    'stays in effect in whatever order other decisions arrive (seed %d)',
    async (seed) => {
      const decisions = decisionsOf(seed)
      const { one, task, ids, decide } = await waiting(decisions.length)
      const answers: Promise<{ status: number }>[] = []
      for (const { call, decision, pause } of decisions) {
        for (let turn = 0; turn < pause; turn++) await turnOfLoop()
        const answer = decide(call, decision)
        answers.push(answer)
        // Every other time the next one does not wait for it.
        if (seed % 2 === 0) await answer
      }
      for (const answer of answers) expect((await answer).status).toBe(200)
      const done = await one.settled(task.id)
      expect([done.status.state, resultsOf(done)]).toEqual(['completed', expectedOf(ids, decisions)])
    },
  )

  test("stays in effect when calls are rejected while another one's tool runs", async () => {
    const { one, task, ids, decide } = await waiting(4)
    const decisions: Decision[] = ['approve', 'reject', 'reject', 'approve'].map((decision, index) => ({
      call: 3 - index,
      decision: decision as Decision['decision'],
      pause: 0,
    }))
    for (const { call, decision } of decisions) expect((await decide(call, decision)).status).toBe(200)
    const done = await one.settled(task.id)
    expect([done.status.state, resultsOf(done)]).toEqual(['completed', expectedOf(ids, decisions)])
  })

  test('is final: a second decision is rejected, whether it agrees or not', async () => {
    const { one, task, ids, decide } = await waiting(2)
    const both = await Promise.all([
      decide(0, 'approve'),
      decide(0, 'reject'),
      decide(1, 'reject'),
      decide(1, 'reject'),
    ])
    expect(both.map(({ status }) => status)).toEqual([200, 409, 200, 409])
    const done = await one.settled(task.id)
    expect(resultsOf(done)).toEqual({ [ids[0] ?? '']: 'result of q0', [ids[1] ?? '']: REJECTED })
  })
})
