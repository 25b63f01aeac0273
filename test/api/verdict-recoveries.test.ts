// How the verdict counts the retries and fallbacks of clients that declare nothing, after every kind of failed response.
import { afterAll, expect, test } from 'bun:test'
import type { Verification } from '../../src/contract/core/verification.ts'
import { createTestApp } from '../support/app.ts'

const app = createTestApp({ skip_latency: false })
afterAll(app.close)

let sessions = 0
/** A client in a session in which rules inject faults. */
async function clientUnder(...rules: object[]) {
  const name = `recoveries-${++sessions}`
  const scenario = {
    name: 'faults',
    clock: 'virtual',
    rules: rules.map((rule, index) => ({ name: `${index}`, ...rule })),
  }
  const control = (method: string, path: string, body: unknown) =>
    app.fetch(`/s/${name}/_understudy/${path}`, { method, body: JSON.stringify(body) })
  expect((await control('PUT', 'scenario', scenario)).status).toBe(200)
  const post = (path: string, body: object, { signal, headers }: Pick<RequestInit, 'signal' | 'headers'> = {}) =>
    app.understudy.app.fetch(
      new Request(`http://localhost/s/${name}${path}`, {
        method: 'POST',
        headers: { authorization: 'Bearer any', 'content-type': 'application/json', ...headers },
        body: JSON.stringify(body),
        ...(signal && { signal }),
      }),
    )
  const verify = async () => (await app.fetch(`/s/${name}/_understudy/verify?wait=5s`)).json() as Verification
  const messages = [{ role: 'user', content: 'Tell me a story' }]
  return {
    /** Asks a model of OpenAI, and reads the response. */
    async chat(more: Parameters<typeof post>[2] = {}): Promise<void> {
      const response = await post('/v1/chat/completions', { model: 'gpt-4o', messages }, more)
      await response.text().catch(() => {})
    },
    /** Asks a model of Anthropic the same. */
    async claude(): Promise<void> {
      await (await post('/v1/messages', { model: 'claude-sonnet-4', max_tokens: 60, messages })).text()
    },
    post,
    control,
    /** Reads a dataset that does not exist. */
    async missing(): Promise<void> {
      expect((await app.fetch(`/s/${name}/v2/datasets/none`)).status).toBe(404)
    },
    pause: (advance: string) => control('POST', `sessions/${name}/clock`, { advance }),
    verify,
    async verdict() {
      const found = await verify()
      const { client_retry: retries, client_fallback: fallbacks } = found.recovery_paths
      return { retries, fallbacks, findings: found.findings.map(({ kind }) => kind) }
    },
  }
}

/** The first calls fail with a status. */
const failing = (status: number, calls = '1-2') => ({ when: { calls }, fault: { type: 'http-error', status } })
const wrongType = (calls: string) => ({ when: { calls }, fault: { type: 'wrong-content-type' } })
const OPENAI_HANGS = { match: { provider: 'openai' }, fault: { type: 'hang' } }
/** Leaves a call after a time. */
const timeout = () => AbortSignal.timeout(30)

test.each([401, 404, 409, 424, 501])(
  'recovery paths: count retries with a backoff after a status %d',
  async (status) => {
    const { chat, pause, verdict } = await clientUnder(failing(status))
    await chat()
    await pause('300ms')
    await chat()
    await pause('600ms')
    await chat()
    expect(await verdict()).toEqual({ retries: 2, fallbacks: 0, findings: [] })
  },
)

test('Retry-After: counts as honored after every status', async () => {
  const fault = { type: 'http-error', status: 409, retry_after: '2s' }
  const { chat, pause, verify } = await clientUnder({ when: { calls: '1-2' }, fault })
  await chat()
  await pause('2s')
  await chat()
  await pause('1s')
  await chat()
  expect((await verify()).retry_after).toMatchObject({ sent: 2, honored: 1 })
})

test('recovery paths: count no retry for equal prompts without a pause after a final error', async () => {
  const { chat, verdict } = await clientUnder(failing(404))
  for (let count = 0; count < 3; count++) await chat()
  const { retries } = await verdict()
  expect(retries).toBe(0)
})

test.each([401, 404, 501])('recovery paths: count a fallback to another provider after a status %d', async (status) => {
  const { chat, claude, verdict } = await clientUnder(failing(status, '1'))
  await chat()
  await claude()
  expect(await verdict()).toEqual({ retries: 0, fallbacks: 1, findings: [] })
})

test("recovery paths: count a fallback to another provider after the client's own timeout", async () => {
  const { chat, claude, verdict } = await clientUnder(OPENAI_HANGS)
  await chat({ signal: timeout() })
  await claude()
  expect(await verdict()).toEqual({ retries: 0, fallbacks: 1, findings: [] })
})

test('recovery paths: count no fallback when the request was answered in the meantime', async () => {
  const { chat, claude, verdict } = await clientUnder({ ...OPENAI_HANGS, when: { calls: '1' } })
  const slow = chat({ signal: AbortSignal.timeout(100) })
  await chat()
  await slow
  await claude()
  expect(await verdict()).toEqual({ retries: 0, fallbacks: 0, findings: [] })
})

/** Sends the same prompt again after each pause. Strict clients reject the first two responses. */
async function sendAgain(...pauses: string[]) {
  const { chat, pause, verdict } = await clientUnder(wrongType('1-2'))
  await chat()
  for (const length of pauses) {
    await pause(length)
    await chat()
  }
  return verdict()
}

test('recovery paths: count retries with a growing backoff after responses with another content type', async () => {
  expect(await sendAgain('1s', '2s')).toEqual({ retries: 2, fallbacks: 0, findings: [] })
})

test.each(['0ms 0ms', '1s 1s', '3s 1s', '1s'])(
  'recovery paths: count no retry for equal prompts after responses that could be read, with pauses of %s',
  async (pauses) => {
    expect(await sendAgain(...pauses.split(' '))).toEqual({ retries: 0, fallbacks: 0, findings: [] })
  },
)

test('recovery paths: count declared retries after a response with another content type', async () => {
  const { chat, verdict } = await clientUnder(wrongType('1'))
  for (const count of ['0', '1']) await chat({ headers: { 'x-stainless-retry-count': count } })
  expect((await verdict()).retries).toBe(1)
})

/** Sends the same prompt three times, and leaves each stream as soon as it contains a text. */
async function leaveThrice(seen: RegExp, rule: object) {
  const { post, verdict, control } = await clientUnder(rule)
  const timing = { first_token: '5ms', tokens_per_second: 100 }
  const fixtures = [
    { name: 'slow', match: { operation: 'chat.completions' }, replies: [{ content: 'One two three', timing }] },
  ]
  expect((await control('PUT', 'fixtures', fixtures)).status).toBe(200)
  const body = { model: 'gpt-4o', stream: true, messages: [{ role: 'user', content: 'Tell me a story' }] }
  for (let count = 0; count < 3; count++) {
    const left = new AbortController()
    const response = await post('/v1/chat/completions', body, { signal: left.signal })
    const reader = (response.body as ReadableStream<Uint8Array>).getReader()
    let text = ''
    while (!seen.test(text)) text += new TextDecoder().decode((await reader.read()).value)
    left.abort()
    await reader.cancel().catch(() => {})
  }
  return verdict()
}
const COMMENTS = { fault: { type: 'keep-alive-comments', interval: '3ms' } }

test('recovery paths: count no retry for equal prompts after streams that were left when they had everything', async () => {
  expect(await leaveThrice(/"finish_reason":"\w/, COMMENTS)).toEqual({ retries: 0, fallbacks: 0, findings: [] })
})

test('recovery paths: count no retry when a user stops a stream without a fault and sends the prompt again', async () => {
  expect(await leaveThrice(/"content":"\w/, failing(500, '9'))).toEqual({ retries: 0, fallbacks: 0, findings: [] })
})

test("recovery paths: count a retry after a client's own timeout although the gateway had the whole response", async () => {
  // It holds back the last event, which the gateway has read.
  const stalls = { at: 'gateway', when: { calls: '1' }, fault: { type: 'stall-stream', after_chunks: 2 } }
  const { post, pause, verdict, control } = await clientUnder(stalls)
  const timing = { first_token: '5ms', tokens_per_second: 100 }
  const fixtures = [{ name: 'slow', match: { operation: 'chat.completions' }, replies: [{ content: 'One', timing }] }]
  expect((await control('PUT', 'fixtures', fixtures)).status).toBe(200)
  const body = { model: 'openai/gpt-4o', stream: true, messages: [{ role: 'user', content: 'Tell me a story' }] }
  for (const signal of [AbortSignal.timeout(100), undefined]) {
    await post('/v2/router/chat/completions', body, signal && { signal })
      .then((response) => response.text())
      .catch(() => {})
    await pause('300ms')
  }
  expect((await verdict()).retries).toBe(1)
})

test('recovery paths: count no retry for a client that polls for a missing record', async () => {
  const { missing, pause, verdict } = await clientUnder(failing(500))
  for (let count = 0; count < 3; count++) {
    await missing()
    await pause('1s')
  }
  expect(await verdict()).toEqual({ retries: 0, fallbacks: 0, findings: [] })
})

test('gave-up: counts no more requests than there are when a proxy retries with the marks of its client', async () => {
  const { chat, pause, verify } = await clientUnder({ fault: { type: 'http-error', status: 429, retry_after: '2s' } })
  for (const count of ['0', '1', '2'])
    for (const wait of ['2s', '2s', '500ms']) {
      await chat({ headers: { 'x-stainless-retry-count': count } })
      await pause(wait)
    }
  const [finding] = (await verify()).findings.filter(({ kind }) => kind === 'gave-up')
  expect(finding?.message).toBe('at least one request never succeeded: 9 equivalent calls failed (last: status 429)')
})

test('recovery paths: count a retry by a loop around an SDK after the timeout that it declares', async () => {
  const silent = { when: { calls: '1' }, fault: { type: 'hang' } }
  const declares = { 'x-stainless-timeout': '1', 'x-stainless-retry-count': '0' }
  const counts: number[] = []
  for (const [limit, pause] of [
    [1_050, 300],
    [400, 300],
  ] as const) {
    const client = await clientUnder(silent)
    await client.chat({ headers: declares, signal: AbortSignal.timeout(limit) }).catch(() => {})
    await Bun.sleep(pause)
    await client.chat({ headers: declares })
    counts.push((await client.verdict()).retries)
  }
  // The second client left earlier than it declares, as when a user stops it.
  expect(counts).toEqual([1, 0])
})
