// A stream whose events are all there leaves in one piece: its bytes, its trace and the record of its events are those of the same
// stream sent event by event.
import { afterAll, expect, test } from 'bun:test'
import fc from 'fast-check'
import type { Reply } from '../../src/contract/reply.ts'
import type { StreamEvent } from '../../src/lib/sse.ts'
import { EVENT_END, EVENT_START, WrittenEvent } from '../../src/lib/written-events.ts'
import { createTestApp, type TestApp } from '../support/app.ts'
import { bodyOf, CHAT } from '../support/chat.ts'
import { runs } from '../support/property.ts'

const apps: TestApp[] = []
afterAll(() => Promise.all(apps.map((app) => app.close())))

let events: readonly StreamEvent[] = []
/** An application that answers with the events of the moment. */
function appWhere(given: (events: readonly StreamEvent[]) => Iterable<StreamEvent>, reported: unknown[]): TestApp {
  const about = { status: 200, headers: {}, usage: null, fixture: null, synthesized: false }
  const answer = async (): Promise<Reply> => ({ ...about, body: { kind: 'events', events: given(events) } })
  const app = createTestApp({}, (error) => reported.push(String(error)), { backend: { answer } })
  apps.push(app)
  return app
}
const bugs: { one: unknown[]; other: unknown[] } = { one: [], other: [] }
const together = appWhere((all) => [...all], bugs.one)
const oneByOne = appWhere(function* (all) {
  yield* all
}, bugs.other)

const chunk = (content: string, finish: string | null = null) => ({
  id: 'c',
  object: 'chat.completion.chunk',
  created: 1,
  model: 'm',
  choices: [{ index: 0, delta: { content }, finish_reason: finish }],
})
const anyText = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.constantFrom('\ud800', 'two\nlines', 'a\r\nb', 'x'.repeat(300), 'é'.repeat(9_000), '日'.repeat(20_000)),
)
const tokens = fc.constantFrom(1, 3)
const anyEvent = fc.oneof(
  fc.record({ data: anyText.map((text) => chunk(text)), tokens }),
  fc.record({ data: anyText.map((text) => chunk(text)), event: fc.constantFrom('chunk', 'other') }),
  fc.record({
    data: anyText.map((text) => chunk(text)),
    text: anyText.map((text) => JSON.stringify(chunk(text), null, 1)),
  }),
  fc
    .tuple(anyText, fc.constantFrom(0, 2))
    .map(([text, count]) => new WrittenEvent(`${EVENT_START}${JSON.stringify(chunk(text))}${EVENT_END}`, count)),
)
/** What cannot be written, seldom. */
const odd = fc.option(fc.record({ data: fc.constant({ ...chunk('x'), own: 1n }) }), { freq: 9 })

/** All that is known of a call afterwards. */
async function outcomeIn(app: TestApp) {
  const answer = await app.post(CHAT, bodyOf({ stream: true }))
  const trace = await app.traceOf(answer)
  const sent = await app.fetch(`/_understudy/traces/${trace.id}/exchange`)
  return { status: answer.status, headers: [...answer.headers], text: answer.text, trace, sent: sent.json() }
}

test('whatever its events are', async () => {
  const begun = { data: chunk(''), tokens: 1 }
  const ended = { data: chunk('', 'stop') }
  const streams = fc.tuple(
    fc.array(anyEvent, { maxLength: 200, size: 'max' }),
    odd,
    fc.array(anyEvent, { maxLength: 3 }),
  )
  await fc.assert(
    fc.asyncProperty(streams, async ([before, bad, behind]) => {
      events = [begun, ...before, ...(bad ? [bad] : []), ...behind, ended]
      const [one, other] = [await outcomeIn(together), await outcomeIn(oneByOne)]
      expect(one).toEqual(other)
    }),
    { seed: 7, numRuns: runs(60) },
  )
  expect(bugs.one).toEqual(bugs.other)
})

test('equal calls at the same time, each with its own id', async () => {
  const app = createTestApp()
  apps.push(app)
  const answers = await Promise.all(Array.from({ length: 30 }, () => app.post(CHAT, bodyOf({ stream: true }))))
  const texts = answers.map(({ text, headers }) => text.replaceAll(headers.get('x-understudy-trace') ?? '', 'ID'))
  expect(new Set(answers.map(({ text }) => text)).size).toBe(30)
  expect(new Set(texts).size).toBe(1)
})
