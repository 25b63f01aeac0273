// Virtual time passes only in waits: it stands still during real work, and no timeout is passed unnoticed.
import { afterAll, describe, expect, test } from 'bun:test'
import type { TraceRecord } from '../../src/contract/core/trace.ts'
import { dataEvent } from '../../src/lib/sse.ts'
import { VIRTUAL_START, virtualClock } from '../../src/lib/virtual-clock.ts'
import { accepted } from '../support/accepted.ts'
import { createTestApp } from '../support/app.ts'
import { CHAT, user } from '../support/chat.ts'
import { errorOf } from '../support/errors.ts'
import { A, attemptsOf, B, closeScripted, createScripted, ROLE, said, says, streams } from '../support/scripted.ts'

const app = createTestApp()
afterAll(() => {
  app.close()
  closeScripted()
})
const model = 'openai/gpt-4o'
const timeout = { call_timeout: 60_000 }
const template = { template_engine: 'jinja', variables: { name: 'Ada' } }

const WORK: [string, string, object][] = [
  ['an image', '/v2/router/images/generations', { model: 'openai/gpt-image-1', prompt: 'A red fox.', timeout }],
  [
    'audio',
    CHAT,
    { model, ...user('Say it.'), modalities: ['text', 'audio'], audio: { voice: 'alloy', format: 'opus' }, timeout },
  ],
  [
    'a sample of a schema',
    CHAT,
    {
      model,
      ...user('Go.'),
      response_format: {
        type: 'json_schema',
        json_schema: {
          name: 'x',
          schema: { type: 'object', properties: { a: { type: 'string', pattern: '^[a-z]{5}$' } }, required: ['a'] },
        },
      },
      timeout,
    },
  ],
  ['a template', CHAT, { model, ...user('Hello {{ name }}!'), ...template, timeout }],
]
describe.each(WORK)('virtual time of generating %s', (_, path, body) => {
  const DELAYED = { model: 'anthropic/claude-sonnet-4', ...user('Hello!') }
  test('is zero in every session, even while other calls wait', async () => {
    const slow = {
      name: 'slow',
      rules: [{ name: 'late', match: { provider: 'anthropic' }, fault: { type: 'delay', for: '30s' } }],
    }
    for (const session of ['one', 'two', 'three']) {
      await accepted(app.post('/_understudy/sessions', { name: session, scenario: slow, clock: 'virtual' }))
    }
    const took = async (session: string) => {
      const answers = await Promise.all([
        app.post(`/s/${session}${CHAT}`, DELAYED),
        app.post(`/s/${session}${path}`, body),
      ])
      expect(answers.map(({ status }) => status)).toEqual([200, 200])
      return Promise.all(answers.map(async (answer) => ((await app.traceOf(answer)) as TraceRecord).duration_ms))
    }
    const times = [await took('one'), await took('two'), await took('three')]
    expect(times).toEqual([
      [30_000, 0],
      [30_000, 0],
      [30_000, 0],
    ])
    for (const session of ['one', 'two', 'three']) {
      await app.fetch(`/_understudy/sessions/${session}`, { method: 'DELETE' })
    }
  })
})

describe('timeout on a virtual clock', () => {
  const never = new Promise<never>(() => {})
  test('ends a response that ignores its signal', async () => {
    const scripted = createScripted({ [A]: [() => never], [B]: [says('Second best.')] })
    errorOf((await scripted.ask({ timeout })).text, 504)
    const answer = await scripted.ask({ timeout, fallbacks: [{ model: B }] })
    expect(await attemptsOf(scripted, answer)).toEqual([`${A} 1 first timed_out 504`, `${B} 1 fallback succeeded 200`])
    expect((await scripted.traceOf(answer)).duration_ms).toBe(60_000)
  })

  test('ends a stream that ignores its signal, before and after its first content', async () => {
    const deaf = async function* () {
      yield [dataEvent({})]
      await never
    }
    const base = { status: 200, headers: {}, usage: null, fixture: null, generated: false }
    const scripted = createScripted({
      [A]: [async () => ({ ...base, body: { kind: 'events' as const, events: deaf() } })],
    })
    errorOf((await scripted.ask({ timeout, stream: true })).text, 504)
    const late = createScripted({ [A]: [streams(ROLE, said('One '), said('two'), Number.POSITIVE_INFINITY)] })
    const answer = await late.ask({ timeout, stream: true })
    expect(answer.text).toContain('within the call_timeout of 60000 ms')
  })

  test('does not run while a response is generated', async () => {
    const work = Promise.withResolvers<void>()
    const scripted = createScripted({
      [A]: [
        async (call) => {
          await call.clock.work(work.promise)
          return says('Made.')(call)
        },
      ],
    })
    const answer = scripted.ask({ timeout })
    for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setImmediate(resolve))
    work.resolve()
    expect((await scripted.traceOf(await answer)).duration_ms).toBe(0)
  })
})

describe('virtual clock and work', () => {
  const turns = async (count = 20) => {
    for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve))
  }
  test('stands still until all work is done, then jumps', async () => {
    const clock = virtualClock()
    const ended: number[] = []
    const [first, second] = [Promise.withResolvers<string>(), Promise.withResolvers<string>()]
    const works = [clock.work(first.promise), clock.work(second.promise)]
    const sleep = clock.sleep(5_000).then(() => ended.push(clock.now() - VIRTUAL_START))
    await turns()
    first.resolve('done')
    await turns()
    expect({ ended, at: clock.now() - VIRTUAL_START }).toEqual({ ended: [], at: 0 })
    second.reject(new Error('broken'))
    expect((await Promise.allSettled(works)).map(({ status }) => status)).toEqual(['fulfilled', 'rejected'])
    await sleep
    expect({ ended, jumped: clock.jumped }).toEqual({ ended: [5_000], jumped: 5_000 })
  })

  test('ends its waits when the session is gone', async () => {
    const clock = virtualClock()
    clock.freeze()
    const waits = [clock.sleep(5), clock.sleep(10, new AbortController().signal)]
    clock.end(new Error('over'))
    const results = await Promise.allSettled([...waits, clock.sleep(1)])
    expect(results.map((one) => one.status === 'rejected' && one.reason.message)).toEqual(['over', 'over', 'over'])
    expect(clock.waiting).toBe(0)
  })
})
