// A stream whose events are all known is sent in one write: its bytes and its trace are those of the same stream sent event by event.
import { afterAll, expect, setDefaultTimeout } from 'bun:test'
import fc from 'fast-check'
import type { Reply } from '../../src/contract/core/reply.ts'
import { dataEvent, type EventBatch, type EventStream, StreamEvent } from '../../src/lib/sse.ts'
import { createTestApp, type TestApp } from '../support/app.ts'
import { character } from '../support/arbitrary.ts'
import { bodyOf, CHAT } from '../support/chat.ts'
import { property, runs, test } from '../support/property.ts'

// Thousands of events in two ways, on a machine that may be busy.
setDefaultTimeout(120_000)

const apps: TestApp[] = []
afterAll(() => Promise.all(apps.map((app) => app.close())))

let events: EventBatch = []
/** An application that answers with the events of the moment. */
function appWhere(streamOf: (events: EventBatch) => EventStream, reported: unknown[] = []): TestApp {
  const about = { status: 200, headers: {}, usage: null, fixture: null, generated: false }
  const answer = async (): Promise<Reply> => ({ ...about, body: { kind: 'events', events: streamOf(events) } })
  const app = createTestApp({}, (error) => reported.push(String(error)), { backend: { answer } })
  apps.push(app)
  return app
}
const together = appWhere((all) => [all])
const oneByOne = appWhere(async function* (all) {
  for (const event of all) yield [event]
})

const chunk = (content: string, finish: string | null = null) => ({
  id: 'c',
  object: 'chat.completion.chunk',
  created: 1,
  model: 'm',
  choices: [{ index: 0, delta: { content }, finish_reason: finish }],
})
// A few long ones in a stream show what many would.
const anyText = fc.oneof(
  { weight: 15, arbitrary: fc.string({ unit: character }) },
  { weight: 14, arbitrary: fc.constantFrom('\ud800', 'two\nlines', 'a\r\nb', 'x'.repeat(300)) },
  { weight: 1, arbitrary: fc.constantFrom('é'.repeat(9_000), '日'.repeat(20_000)) },
)
const tokens = fc.constantFrom(undefined, 0, 1, 3)
const anyEvent = fc.oneof(
  fc.tuple(anyText, tokens).map(([text, count]) => dataEvent(chunk(text), { tokens: count })),
  fc.tuple(anyText, fc.constantFrom('chunk', 'other')).map(([text, event]) => dataEvent(chunk(text), { event })),
  anyText.map((text) => new StreamEvent(JSON.stringify(chunk(text), null, 1), { multiline: true })),
)

/** All that is known of a call afterwards. */
async function outcomeIn(app: TestApp) {
  const answer = await app.post(CHAT, bodyOf({ stream: true }))
  const trace = await app.traceOf(answer)
  const sent = await app.fetch(`/_understudy/traces/${trace.id}/exchange`)
  return { status: answer.status, headers: [...answer.headers], text: answer.text, trace, sent: sent.json() }
}

property('complete stream: is sent and recorded like one whose events arrive one by one', async () => {
  const streams = fc.array(anyEvent, { maxLength: 200, size: 'max' })
  await fc.assert(
    fc.asyncProperty(streams, async (between) => {
      events = [dataEvent(chunk(''), { tokens: 1 }), ...between, dataEvent(chunk('', 'stop'))]
      expect(await outcomeIn(together)).toEqual(await outcomeIn(oneByOne))
    }),
    { seed: 7, numRuns: runs(60) },
  )
})

test('complete stream: ends its call before its first byte, and is rejected if the call cannot be stored', async () => {
  events = [dataEvent(chunk('Hello'), { tokens: 1 }), dataEvent(chunk('', 'stop'))]
  const reported: unknown[] = []
  const app = appWhere((all) => [all], reported)
  const session = app.understudy.sessions.get('default')
  const traces = Object.assign(Object.create(session.traces), {
    record: () => Promise.reject(new Error('the disk is full')),
  })
  Object.defineProperty(session, 'traces', { get: () => traces })
  const answer = await app.post(CHAT, bodyOf({ stream: true }))
  expect(answer.status).toBe(500)
  expect(reported).toEqual(['Error: the disk is full'])
})

test('parallel equal streams: have their own ids', async () => {
  const app = createTestApp()
  apps.push(app)
  const answers = await Promise.all(Array.from({ length: 30 }, () => app.post(CHAT, bodyOf({ stream: true }))))
  const texts = answers.map(({ text, headers }) => text.replaceAll(headers.get('x-understudy-trace') ?? '', 'ID'))
  expect(new Set(answers.map(({ text }) => text)).size).toBe(30)
  expect(new Set(texts).size).toBe(1)
})
