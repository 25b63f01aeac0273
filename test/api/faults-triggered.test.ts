// A fault is in the trace, in the report and before expectations when it was injected, and only then: every type, injected and not.
import { afterAll, describe, expect, test } from 'bun:test'
import type { Verification } from '../../src/contract/core/verification.ts'
import { faultKinds } from '../../src/faults/index.ts'
import { accepted } from '../support/accepted.ts'
import { type TestApp, testApps } from '../support/app.ts'
import { type Fault, type Heard, type Rehearsal, rehearsal } from '../support/faults.ts'

const fixtures = rehearsal()
const apps = testApps()
afterAll(async () => {
  fixtures.close()
  await apps.close()
})

/** A call with an instance of the kind that acts on it, and one with an instance that has nothing to act on. */
interface Row {
  acts: { fault?: object; stream?: boolean; more?: object }
  idle?: { fault?: object | object[]; stream?: boolean }
}
const STREAMED = { acts: { stream: true } }
/** Whatever the call, it acts. */
const always: Row = { acts: { stream: false } }
/** Only a call of the other form leaves it without effect. */
const streamsOnly: Row = { ...STREAMED, idle: { stream: false } }
/** The place is behind the end of the answer. */
const farOff = (far: object): Row => ({ ...STREAMED, idle: { fault: far, stream: true } })
const refused = { type: 'http-error', status: 500 }
const tools = [{ type: 'function', function: { name: 'f', parameters: { type: 'object', properties: { a: {} } } } }]
const withoutCalls = { stream: false }
const callsTools: Row = { acts: { stream: false, more: { tools, tool_choice: 'required' } }, idle: withoutCalls }

const ROWS: Record<string, Row> = {
  'http-error': always,
  'rate-limit': { acts: { fault: { requests: 0 }, stream: false }, idle: { fault: { requests: 5 }, stream: false } },
  delay: { acts: { fault: { for: '2s' } }, idle: { fault: { for: 0 } } },
  hang: { acts: { stream: false, more: { timeout: { call_timeout: 500 } } } },
  'connection-refused': always,
  reset: always,
  'empty-reply': always,
  'dns-failure': always,
  'tls-failure': always,
  'auth-failure': always,
  'context-length': { acts: { stream: false }, idle: { fault: { limit: 10_000 }, stream: false } },
  'content-filter': always,
  'quota-exceeded': always,
  'model-not-found': always,
  'cut-stream': farOff({ after_bytes: 10_000_000 }),
  'stall-stream': farOff({ after_chunks: 10_000, for: '1s' }),
  'slow-stream': streamsOnly,
  'stream-error': farOff({ after_chunks: 10_000 }),
  'plain-json-error-in-stream': farOff({ after_chunks: 10_000 }),
  'malformed-chunk': farOff({ after_chunks: 10_000 }),
  'malformed-json': { acts: { stream: false }, idle: { stream: true } },
  'malformed-content': { acts: { stream: false }, idle: { fault: [{}, refused], stream: false } },
  'missing-done': { ...STREAMED, idle: { fault: [{}, {}], stream: true } },
  'last-event-without-blank-line': streamsOnly,
  'unknown-finish-reason': {
    acts: { stream: false },
    idle: { fault: [{}, { type: 'missing-finish' }], stream: false },
  },
  'missing-finish': { acts: { stream: false }, idle: { fault: [{}, {}], stream: false } },
  'missing-usage': { acts: { stream: false }, idle: { fault: [{}, {}], stream: false } },
  'duplicate-chunk': farOff({ chunk: 10_000 }),
  'reorder-chunks': farOff({ chunk: 10_000 }),
  'split-bytes': { acts: { stream: false }, idle: { fault: { size: 1_000_000 }, stream: false } },
  'keep-alive-comments': streamsOnly,
  'wrong-content-type': {
    acts: { stream: false },
    idle: { fault: { content_type: 'application/json' }, stream: false },
  },
  'tool-wrong-arguments': callsTools,
  'tool-truncated': callsTools,
  'tool-duplicate': callsTools,
  'unknown-tool': callsTools,
  runaway: { acts: { stream: false, more: { tools } }, idle: withoutCalls },
  'empty-body': { acts: { stream: false }, idle: { fault: [{}, refused], stream: false } },
  'truncate-body': { acts: { stream: false }, idle: { fault: { after_fraction: 1 }, stream: false } },
  'broken-framing': { acts: { stream: false }, idle: { fault: [{}, refused], stream: false } },
}
const OF_WORKSPACE = ['stuck-processing', 'stale-read', 'shifted-page']
// Theirs are test/api/faults-tools.test.ts and test/api/faults-tasks.test.ts.
const OF_TOOLS = ['tool-error', 'tool-timeout', 'sub-agent-failed', 'stuck-task', 'approval-never', 'late-response']

test('fault table: has a row for every type', () => {
  expect(faultKinds.map(({ type }) => type).sort()).toEqual([...Object.keys(ROWS), ...OF_WORKSPACE, ...OF_TOOLS].sort())
})

const RULE = 'rule 1'
const rulesIn = ({ trace }: Heard) => [...trace.faults, ...trace.attempts.flatMap(({ faults }) => faults)]
/** Whether an expectation on the first rule is met. */
const isExpected = async ({ app }: Rehearsal) => {
  const answer = await app.post('/s/rehearsal/_understudy/verify', { expect: [{ at: 'gateway', rule: RULE }] })
  return (answer.json() as unknown as Verification).expectations[0]?.met
}

for (const { type, example, points } of faultKinds.filter(({ type }) => ROWS[type])) {
  const { acts, idle } = ROWS[type] ?? always
  const faultOf = (fault: object = {}): Fault => ({ type, ...example, ...fault })
  // A client that hangs has to go by itself, which is a test of its own.
  const places = points.filter(
    (point) => ['provider', 'gateway'].includes(point) && !(type === 'hang' && point === 'gateway'),
  )
  describe.each(places as ('provider' | 'gateway')[])(`fault ${type} at the %s`, (point) => {
    test('is in the trace, the report and expectations when it is injected', async () => {
      const heard = await fixtures.hear({ stream: true, ...acts, point, fault: faultOf(acts.fault) })
      expect(rulesIn(heard)).toEqual([RULE])
      expect(heard.rule).toMatchObject({ applied: 1, skipped: {} })
      expect(await isExpected(fixtures)).toBe(true)
    })

    if (idle)
      test('is nowhere but in the skip reasons when it has nothing to act on', async () => {
        const { fault, stream = true } = idle
        const faults = Array.isArray(fault)
          ? fault.map((one) => ('type' in one ? (one as Fault) : faultOf(one)))
          : faultOf(fault)
        const heard = await fixtures.hear({ stream, point, fault: faults })
        expect(rulesIn(heard)).not.toContain(RULE)
        expect(heard.headers.get('x-understudy-faults')?.split(', ')).not.toContain(RULE)
        expect(heard.rule?.applied).toBe(0)
        expect(Object.values(heard.rule?.skipped ?? {})).toEqual([1])
        expect(await isExpected(fixtures)).toBe(false)
      })

    test('is nowhere when another fault prevented it', async () => {
      const first = { type: 'delay', for: 0 }
      const heard = await fixtures.hear({ stream: false, point, fault: [first, refused, faultOf(acts.fault)] })
      expect(rulesIn(heard)).toEqual(['rule 2'])
      const { rules } = (await fixtures.app.fetch('/s/rehearsal/_understudy/scenario')).json() as {
        rules: Heard['rule'][]
      }
      expect(rules[2]).toMatchObject({ applied: 0, skipped: { 'overridden by an earlier rule': 1 } })
    })
  })
}

test('fault: is only in the trace when it acts after the headers were sent', async () => {
  const heard = await fixtures.hear({ stream: true, fault: { type: 'cut-stream', after_chunks: 6 } })
  expect(heard.headers.get('x-understudy-faults')).toBe('')
  expect(heard.trace.attempts[0]?.faults).toEqual([RULE])
})

describe('workspace fault', () => {
  const play = async (app: TestApp, fault: object) => {
    const body = JSON.stringify({ name: 'bad-day', rules: [{ name: RULE, at: 'workspace', fault }] })
    await accepted(
      app.fetch('/_understudy/scenario', { method: 'PUT', body, headers: { 'content-type': 'application/json' } }),
    )
  }
  const read = async (app: TestApp, path: string) => (await app.fetch(path)).headers.get('x-understudy-faults')
  const dataset = (app: TestApp) => app.post('/v2/datasets', { display_name: 'One', path: 'Default' })

  test('shifted-page is reported when it is injected', async () => {
    const app = apps.appWith()
    await dataset(app)
    const { _id } = (await dataset(app)).json() as { _id: string }
    await play(app, { type: 'shifted-page' })
    expect(await read(app, `/v2/datasets/${_id}`)).toBe('')
    expect(await read(app, '/v2/datasets')).toBe(RULE)
  })
  test('stale-read is reported when it is injected', async () => {
    const app = apps.appWith()
    await play(app, { type: 'stale-read' })
    expect(await read(app, '/v2/datasets')).toBe('')
    await dataset(app)
    expect(await read(app, '/v2/datasets')).toBe(RULE)
  })
  test('stuck-processing is reported when it is injected', async () => {
    const app = apps.appWith()
    await play(app, { type: 'stuck-processing' })
    expect(await read(app, '/v2/datasets')).toBe('')
    const base = (await app.post('/v2/knowledge', { key: 'mine', display_name: 'Mine', path: 'Default' })).json() as {
      _id: string
    }
    const made = await app.post(`/v2/knowledge/${base._id}/datasources`, { display_name: 'One' })
    expect([made.status, made.headers.get('x-understudy-faults')]).toEqual([200, RULE])
  })
})
