// Clients that wait forever have a finding: real clients over sockets, with and without a timeout, under every type of silence.
import { beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { type Played, play } from '../support/exec.ts'
import { client } from '../support/in-process.ts'
import { loadPrograms } from '../support/programs/index.ts'
import { type Program, received, receivedFirst, type Surroundings } from '../support/programs/surroundings.ts'

setDefaultTimeout(30_000)
beforeAll(() => loadPrograms('deadlines', 'ai-sdk', 'anthropic'))
const LIMIT_MS = 400

const SILENCES = {
  hang: 'type: hang',
  'a late first token': 'type: delay, for: 50s',
  'stall-stream': 'type: stall-stream, after_chunks: 2',
}
const day = (fault: string) => `name: silent
clock: virtual
rules:
  - name: silence
    fault: { ${fault} }
`
const run = (command: string[], fault: string, hangLimit = LIMIT_MS) =>
  play(client('deadlines', ...command), day(fault), { latency: 'real', hangLimit })
const found = ({ run: { sessions } }: Played) =>
  sessions.flatMap(({ findings }) => findings.map(({ kind, severity, message }) => ({ kind, severity, message })))
const outcomes = ({ run: { sessions } }: Played) => sessions.flatMap(({ order }) => order.map(({ outcome }) => outcome))

const rows = Object.entries(SILENCES).flatMap(([name, fault]) =>
  (name === 'stall-stream' ? ['stream'] : ['whole', 'stream']).map((how) => [name, how, fault] as const),
)
describe.concurrent.each(rows)('no-timeout finding, %s, %s', (name, how, fault) => {
  test('is reported once for plain fetch without a timeout', async () => {
    const played = await run(['fetch', how], fault)
    const [finding, ...others] = found(played)
    expect(others).toEqual([])
    expect(finding).toMatchObject({ kind: 'no-timeout', severity: 'error' })
    const end = name === 'a late first token' ? '; data would have followed after 50 s' : ''
    expect(finding?.message).toStartWith(
      `the client was still waiting after 400 ms without data: it declares no timeout; the call was reset${end}`,
    )
    expect(outcomes(played)).toEqual(['disconnected'])
  })

  test.each(['fetch', 'openai', 'anthropic'])('is not reported for a program with a timeout: %s', async (who) => {
    const played = await run([who, how, '500'], fault, 5_000)
    expect(found(played).map(({ kind }) => kind)).not.toContain('no-timeout')
    expect(outcomes(played)).toEqual(['canceled'])
  })

  test.each(['openai', 'anthropic'] as const)('is a warning for an SDK with its default timeout: %s', async (who) => {
    const [finding, ...others] = found(await run([who, how], fault))
    expect(others).toEqual([])
    expect(finding).toMatchObject({ kind: 'no-timeout', severity: 'warning' })
    const timeout = {
      openai: 'it declares no timeout, and the default of its SDK is',
      anthropic: 'it has a timeout of',
    }
    expect(finding?.message).toContain(`: ${timeout[who]} 600 s; the call was reset`)
  })
})

// The other APIs and SDKs, under one silence of each kind: what tells it is the same.
const others = [
  ['whole', SILENCES.hang],
  ['stream', SILENCES['stall-stream']],
] as const
describe.concurrent.each(others)('no-timeout finding of SDKs, %s, %s', (how, fault) => {
  test.each(['responses', 'ai-openai', 'ai-anthropic'])(
    'is not reported for %s with a deadline, and reported without',
    async (who) => {
      const careful = await run([who, how, '250'], fault, 2_000)
      expect(found(careful).map(({ kind }) => kind)).not.toContain('no-timeout')
      expect(outcomes(careful)).toEqual(['canceled'])
      const [finding, ...rest] = found(await run([who, how], fault))
      expect(rest).toEqual([])
      // The AI SDK has no timeout of its own, and declares none.
      expect(finding).toMatchObject({ kind: 'no-timeout', severity: who === 'responses' ? 'warning' : 'error' })
    },
  )
})

test.concurrent.each([
  ['hang', 'type: hang, for: 50s'],
  ['stall-stream', 'type: stall-stream, after_chunks: 2, for: 50s, close: reset'],
  ['reset', 'type: reset, after: 50s'],
])('no-timeout finding: promises no data where none would have followed, %s', async (_, fault) => {
  const [finding, ...others] = found(await run(['fetch', 'stream'], fault))
  expect(others).toEqual([])
  expect(finding?.message).toEndWith('it declares no timeout; the call was reset')
})

/** Sends a prompt, on a connection that stays open unless a signal closes it. */
const ask = (
  { env }: Surroundings,
  send: typeof fetch,
  { model = 'gpt-4o', ...init }: RequestInit & { model?: string },
) =>
  send(`${env.OPENAI_BASE_URL}/chat/completions`, {
    ...init,
    method: 'POST',
    headers: { authorization: `Bearer ${env.OPENAI_API_KEY}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, messages: [{ role: 'user', content: 'Hello!' }] }),
  }).catch(() => {})

test.concurrent('no-timeout finding: is a warning where a client with a timeout may keep its connections open', async () => {
  // As urllib3, which closes a connection after the pause before the next call.
  const program: Program = async (about) => {
    await ask(about, receivedFirst(about), { signal: AbortSignal.timeout(100) })
    await ask(about, about.fetch, {})
  }
  const [finding, ...others] = found(await play(program, day(SILENCES.hang), { latency: 'real', hangLimit: 2_000 }))
  expect(others).toEqual([])
  expect(finding).toMatchObject({ kind: 'no-timeout', severity: 'warning' })
  expect(finding?.message).toMatch(
    /^a connection was still open after 2 s without data: the client left an equal call after [\d.]+ m?s, so it may have timed out without closing the connection; the call was reset$/,
  )
})

// As `Promise.race` with a timer, and `Promise.any`, which cancel nothing.
const UNCLOSED = {
  'repeats a silent call': {
    models: ['gpt-4o', 'gpt-4o'],
    fault: SILENCES.hang,
    reason:
      /the client made an equal call after [\d.]+ m?s, so it may have timed out without closing the connection; the calls were reset$/,
  },
  'got the response of a fallback': {
    models: ['gpt-4o', 'claude-sonnet-4'],
    fault: `${SILENCES.hang} }\n    match: { called_first: model`,
    reason: /another call got the response, so the client may not have waited for this one; the call was reset$/,
  },
}
test.concurrent.each(Object.entries(UNCLOSED))(
  'no-timeout finding: is a warning where the client %s and left its connection open',
  async (_, { models, fault, reason }) => {
    const program: Program = async (about) => {
      const calls = []
      for (const model of models) {
        calls.push(ask(about, about.fetch, { model }))
        // On a busy machine, it may be received so late that both calls seem to be made at once.
        await received(about)
        await about.sleep(300)
      }
      await Promise.all(calls)
    }
    const [finding, ...others] = found(await play(program, day(fault), { latency: 'real', hangLimit: 2_000 }))
    expect(others).toEqual([])
    expect(finding).toMatchObject({ kind: 'no-timeout', severity: 'warning' })
    expect(finding?.message).toMatch(reason)
  },
)

test.concurrent('no-timeout finding: is an error for equal calls at the same time', async () => {
  const program: Program = async (about) => {
    await Promise.all([ask(about, about.fetch, {}), ask(about, about.fetch, {})])
  }
  const [finding, ...others] = found(await play(program, day(SILENCES.hang), { latency: 'real', hangLimit: LIMIT_MS }))
  expect(others).toEqual([])
  expect(finding).toMatchObject({ kind: 'no-timeout', severity: 'error' })
})

test.concurrent('no-timeout finding: is reported for a gateway call that hangs', async () => {
  const gateway = JSON.stringify({ retry: { count: 2 } })
  const [finding, ...others] = found(await run(['fetch', 'whole', '-', '/chat/completions', gateway], SILENCES.hang))
  expect(others).toEqual([])
  expect(finding).toMatchObject({ kind: 'no-timeout', severity: 'error' })
})

test('short deadline: is met under a slow stream, and not without real latency', async () => {
  // The stream would take minutes: a busy machine is faster.
  const slow = 'type: slow-stream, tokens_per_second: 0.1'
  const met = await run(['openai', 'stream', '300'], slow, 5_000)
  expect(outcomes(met)).toEqual(['canceled'])
  const skipped = await play(client('deadlines', 'openai', 'stream', '20000'), day(slow))
  expect(outcomes(skipped)).toEqual(['succeeded'])
})

test.concurrent('report: is the same for the same run except for machine-dependent fields', async () => {
  const reports = []
  for (const _ of [1, 2]) {
    const { run: result } = await run(
      ['fetch', 'stream'],
      'type: slow-stream, tokens_per_second: 100, jitter: 0.5',
      5_000,
    )
    const { took_ms, url, times, ...same } = result
    reports.push({ ...same, clocks: same.clocks.map(({ waited_ms, ...clock }) => clock) })
  }
  expect(reports[0]).toEqual(reports[1] as never)
})
