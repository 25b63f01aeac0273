// Calls of the workspace API are judged like those of models: failed ones are repeated, with the requested waits.
import { afterAll, describe, expect, test } from 'bun:test'
import type { Verification } from '../../src/contract/core/verification.ts'
import { createTestApp } from '../support/app.ts'

const app = createTestApp()
afterAll(app.close)

let sessions = 0
/** A client in a session of its own, whose workspace is hit by a fault. */
async function client(fault: object, calls: number | string = 1, match: object = {}) {
  const session = `workspace-${++sessions}`
  const send = async (method: string, path: string, body?: object, more: Record<string, string> = {}) => {
    const headers = { authorization: `Bearer session:${session}`, 'content-type': 'application/json', ...more }
    const answer = await app.fetch(path, { method, headers, ...(body && { body: JSON.stringify(body) }) })
    return answer.status
  }
  const rule = { name: 'bad', at: 'workspace', match: { operation: '*', ...match }, when: { calls }, fault }
  await send('PUT', '/_understudy/scenario', { name: 'day', rules: [rule] })
  return {
    list: (more?: Record<string, string>, query = '') => send('GET', `/v2/datasets${query}`, undefined, more),
    create: (name: string, more?: Record<string, string>) =>
      send('POST', '/v2/datasets', { display_name: name, path: 'Default' }, more),
    send,
    wait: (ms: number) => send('POST', `/_understudy/sessions/${session}/clock`, { advance: ms }),
    verdict: async (query = '') =>
      (
        await app.fetch(`/_understudy/verify${query}`, { headers: { authorization: `Bearer session:${session}` } })
      ).json() as unknown as Verification,
  }
}
type Client = Awaited<ReturnType<typeof client>>
const down = { type: 'http-error', status: 503 }
const limit = { type: 'http-error', status: 429, retry_after: '2s' }
const count = (retry: number) => ({ 'x-stainless-retry-count': String(retry) })

const violations: [
  what: string,
  fault: object,
  calls: number | string,
  act: (its: Client) => unknown,
  found: string[],
][] = [
  ['a failed read that is never repeated', down, 1, ({ list }) => list(), ['gave-up error']],
  [
    'one of two failed reads that is never repeated',
    down,
    1,
    async ({ list }) => [await list({}, '?limit=1'), await list({}, '?limit=2')],
    ['gave-up error'],
  ],
  ['a rate-limited write that is never repeated', limit, 1, ({ create }) => create('one'), ['gave-up error']],
  [
    'one of two rejected writes that is never repeated',
    down,
    1,
    async ({ create }) => [await create('one'), await create('two')],
    ['gave-up error'],
  ],
  [
    'a read that is repeated too early',
    limit,
    1,
    async ({ list }) => [await list(count(0)), await list(count(1))],
    ['early-retry error'],
  ],
  [
    'a read 40 times without a pause',
    down,
    '1+',
    async ({ list }) => {
      for (let turn = 0; turn < 40; turn++) await list()
    },
    ['retry-storm error', 'gave-up error'],
  ],
  [
    'a write that is repeated after a 401',
    { type: 'http-error', status: 401 },
    1,
    async ({ create }) => [await create('one', count(0)), await create('one', count(1))],
    ['ignored-status error'],
  ],
  [
    'a failed write with an idempotency key that is never repeated',
    { type: 'http-error', status: 500 },
    1,
    ({ create }) => create('one', { 'idempotency-key': 'k1' }),
    ['gave-up error'],
  ],
]

describe('finding for a workspace client', () => {
  test.each(violations)('is reported: %s', async (_, fault, calls, act, expected) => {
    const its = await client(fault, calls)
    await act(its)
    const { findings, ok, calls: traced, workspace_calls, notices } = await its.verdict('?ended=unknown')
    expect(findings.map(({ kind, severity }) => `${kind} ${severity}`)).toEqual(expected)
    expect(findings[0]).toMatchObject({
      operation: expect.stringMatching(/Dataset/),
      traces: [],
      at: expect.any(String),
    })
    expect({ ok, traced, some: workspace_calls > 0 }).toEqual({ ok: false, traced: 0, some: true })
    expect(notices.join()).not.toContain('no calls were received')
  })
})

const compliant: [what: string, fault: object, calls: number | string, act: (its: Client) => unknown][] = [
  ['a read that is repeated', down, 1, async ({ list }) => [await list(), await list()]],
  [
    'a read that is repeated after the requested wait',
    limit,
    1,
    async ({ list, wait }) => [await list(count(0)), await wait(2000), await list(count(1))],
  ],
  [
    'a rate limit of one API key, and another key',
    limit,
    1,
    async ({ list }) => [
      await list({ ...count(0), authorization: `Bearer one#workspace-${sessions}` }),
      await list({ ...count(1), authorization: `Bearer two#workspace-${sessions}` }),
    ],
  ],
  [
    'a write that may have been done, and is not repeated',
    { type: 'http-error', status: 500 },
    1,
    ({ create }) => create('one'),
  ],
  [
    'repeated reads of a record that does not exist yet',
    { type: 'delay', for: '1ms' },
    1,
    async ({ send, wait }) => {
      for (let turn = 0; turn < 8; turn++) {
        await send('GET', '/v2/datasets/unknown')
        await wait(1000)
      }
    },
  ],
  [
    'a poll at a fixed interval that fails',
    down,
    '1-3',
    async ({ list, wait }) => {
      for (let turn = 0; turn < 6; turn++) {
        await list()
        await wait(1000)
      }
    },
  ],
  [
    'calls that are rejected as invalid',
    down,
    99,
    async ({ send }) => [await send('POST', '/v2/datasets', {}), await send('GET', '/v2/datasets?limit=x')],
  ],
]

test.each(compliant)('workspace client: has no finding for %s', async (_, fault, calls, act) => {
  const its = await client(fault, calls)
  await act(its)
  const { findings, ok, workspace_calls, notices } = await its.verdict('?ended=unknown')
  expect(findings).toEqual([])
  expect({ ok, some: workspace_calls > 0 }).toEqual({ ok: true, some: true })
  expect(notices.join()).not.toContain('no calls were received')
})

describe('A2A calls in a verdict', () => {
  const rpc = (id: string | number, text: string) => ({
    jsonrpc: '2.0',
    id,
    method: 'message/send',
    params: {
      message: { kind: 'message', messageId: crypto.randomUUID(), role: 'user', parts: [{ kind: 'text', text }] },
    },
  })
  const ask = ({ send }: Client, id: number, text: string) => {
    const body = rpc(id, text)
    return send('POST', '/a2a/clerk', body, { 'content-length': String(JSON.stringify(body).length) })
  }

  test('are no retry of a rejected call when they ask something else', async () => {
    const its = await client(down)
    await ask(its, 1, 'one')
    await ask(its, 2, 'two')
    expect((await its.verdict('?ended=unknown')).findings).toMatchObject([
      { kind: 'gave-up', operation: 'callAgent', count: 1 },
    ])
  })

  test('are a retry when they ask the same, whatever their ids', async () => {
    const its = await client(down)
    await ask(its, 1, 'one')
    await ask(its, 2, 'one')
    expect((await its.verdict('?ended=unknown')).findings).toEqual([])
  })

  test('are no retry storm when they are many and fail', async () => {
    const its = await client(down, '1+')
    for (let call = 0; call < 30; call++) await ask(its, call, `question ${String.fromCharCode(97 + call)}`)
    expect((await its.verdict('?ended=unknown')).findings.map(({ kind }) => kind)).toEqual(['gave-up'])
  })
})

test('workspace retry: is an exercised recovery path, and early ones are counted', async () => {
  const its = await client(limit)
  await its.list(count(0))
  await its.list(count(1))
  expect((await its.verdict()).recovery_paths.client_retry).toBe(1)
  const expected = await app.fetch('/_understudy/verify', {
    method: 'POST',
    headers: { authorization: `Bearer session:workspace-${sessions}`, 'content-type': 'application/json' },
    body: JSON.stringify({ expect: [{ retry_after_honored: true }] }),
  })
  expect((expected.json() as unknown as Verification).expectations).toMatchObject([{ met: false }])
})

test('workspace calls: are counted without a scenario', async () => {
  await app.fetch('/v2/datasets', { headers: { authorization: 'Bearer session:plain' } })
  const { workspace_calls, notices, findings } = (
    await app.fetch('/_understudy/verify', { headers: { authorization: 'Bearer session:plain' } })
  ).json() as unknown as Verification
  expect({ workspace_calls, notices, findings }).toEqual({ workspace_calls: 1, notices: [], findings: [] })
})

test('running workspace call: may be the retry, so giving up is not reported yet', async () => {
  const its = await client({ type: 'delay', for: '10m' }, 2)
  const session = `workspace-${sessions}`
  await its.send('PUT', '/_understudy/scenario', {
    name: 'day',
    clock: 'real',
    rules: [
      { name: 'bad', at: 'workspace', when: { calls: 1 }, match: { operation: '*' }, fault: down },
      {
        name: 'slow',
        at: 'workspace',
        when: { calls: 2 },
        match: { operation: '*' },
        fault: { type: 'delay', for: '10m' },
      },
    ],
  })
  await its.list()
  const gone = new AbortController()
  const second = app.fetch('/v2/datasets', {
    headers: { authorization: `Bearer session:${session}` },
    signal: gone.signal,
  })
  let report = await its.verdict()
  while (!report.notices.join().includes('in progress')) report = await its.verdict()
  expect(report.findings).toEqual([])
  gone.abort()
  await second
  expect((await its.verdict()).findings.map(({ kind }) => kind)).toEqual([])
})
