// The waterfall of a call as a model: its steps against the tries of its client, the steps of an agent, and an axis that folds waits.
import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Waterfall } from '../../src/contract/core/waterfall.ts'
import { axisOf } from '../../src/inspector/page/call/axis.ts'
import { costText, spanText, tickText } from '../../src/inspector/page/state/format.ts'
import { accepted } from '../support/accepted.ts'
import { agentSession } from '../support/agents.ts'
import { createTestApp, type TestApp } from '../support/app.ts'
import { CHAT, user } from '../support/chat.ts'

let app: TestApp
beforeAll(() => {
  app = createTestApp()
})
afterAll(() => app.close())

const waterfallOf = async (session: string, id: string | null) =>
  (await app.fetch(`/s/${session}/_understudy/traces/${id}/waterfall`)).json() as unknown as Waterfall
const brief = ({ rows }: Waterfall, lane: string) =>
  rows.filter((row) => row.lane === lane).map(({ title, subject, detail }) => `${title} ${subject}: ${detail}`)

test('call history: shows the earlier and later tries of a call with what each received', async () => {
  const rules = [
    { name: 'busy', when: { calls: '1-2' }, fault: { type: 'http-error', status: 429, retry_after: '3s' } },
  ]
  await accepted(
    app.post('/_understudy/sessions', { name: 'again', scenario: { name: 'busy', clock: 'virtual', rules } }),
  )
  const ids: (string | null)[] = []
  for (let count = 0; count < 3; count++) {
    const answer = await app.post(`/s/again${CHAT}`, { model: 'openai/gpt-4o', ...user('Hi') })
    ids.push(answer.headers.get('x-understudy-trace'))
    await accepted(app.post('/_understudy/sessions/again/clock', { advance: '4s' }))
  }
  const drawn = await waterfallOf('again', ids[1] ?? null)
  expect(brief(drawn, 'gateway')).toEqual(['scenario : busy', 'first openai/gpt-4o: HTTP error 429 in 0 ms'])
  const tries = drawn.rows.filter(({ lane }) => lane === 'client')
  expect(tries.map(({ title, detail, trace }) => [title, detail, trace])).toEqual([
    ['call', 'HTTP error 429 in 0 ms', ids[0] ?? ''],
    ['again', 'HTTP error 429 in 0 ms', null],
    ['again', 'succeeded 200 in 0 ms', ids[2] ?? ''],
  ])
  expect(tries.map(({ span }) => span?.from)).toEqual([-4000, 0, 4000])
  expect(tries[1]?.notes).toEqual(['after 4000 ms', 'Retry-After 3000 ms'])
  expect([drawn.from, drawn.to]).toEqual([-4000, 4000])
})

test('agent waterfall: shows the steps within their iterations', async () => {
  const agent = agentSession(app)
  await agent.begin([[{ name: 'current_date' }], 'It is the first.'])
  await agent.agent({ settings: { tools: [{ type: 'current_date' }] } })
  const { id, metadata } = await agent.ask('What day is it?')
  await agent.settled(String(id))
  const { trace_id } = metadata as { trace_id: string }
  const drawn = await waterfallOf(agent.name, trace_id)
  expect(brief(drawn, 'agent').map((line) => line.replace(/ in .*/, ''))).toEqual([
    'iteration 1 : ',
    'model openai/gpt-4o: succeeded',
    'tool current_date: succeeded',
    'iteration 2 : ',
    'model openai/gpt-4o: succeeded',
  ])
})

test('waterfall: prints times and costs in readable units', () => {
  const spans = [0, 0.4, 950, 2_000, 174_000, -6, -9_000]
  expect(spans.map(spanText).join(', ')).toBe('0 ms, 0.4 ms, 950 ms, 2 s, 2.9 min, -6 ms, -9 s')
  expect([50_000, 60_000, 70_000, 605_000].map(tickText)).toEqual(['50 s', '1 min', '1:10 min', '10:05 min'])
  expect([0, 0.00000002, 0.0005254, 1234.5].map(costText)).toEqual(['$0', '$0.00000002', '$0.000525', '$1230'])
})

const row = (from: number, to: number) => ({
  lane: 'gateway' as const,
  trace: null,
  span: { from, to, first: null, wait: 0 },
})
const axis = (...spans: [number, number][]) => {
  const rows = spans.map(([from, to]) => row(from, to))
  const [from, to] = [Math.min(...spans.flat()), Math.max(...spans.flat())]
  return axisOf({ rows: rows as unknown as Waterfall['rows'], from, to })
}

test('waterfall axis: folds a long wait so that short spans remain visible', () => {
  const { at, folds } = axis([0, 50], [16_050, 16_100])
  expect(folds.map(({ from, to }) => [from, to])).toEqual([[50, 16_050]])
  expect(at(50)).toBeGreaterThan(40)
  expect(at(16_100)).toBeCloseTo(100)
})

test('waterfall axis: folds nothing when waits are short or all there is', () => {
  expect(axis([0, 900], [1_000, 2_000]).folds).toEqual([])
  expect(axis([0, 0], [2_000, 2_000]).folds).toEqual([])
  expect(axis([0, 0]).at(0)).toBe(0)
})
