// The command that repeats a call, run by a shell against another server of the same seed: it sends the same bytes to the same address and
// receives the same bytes, cut off in the same way.
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { listen } from '../../src/cli/run/listen.ts'
import { readConfig } from '../../src/config.ts'
import type { Exchange } from '../../src/contract/core/exchange.ts'
import type { StoredTrace } from '../../src/contract/core/trace.ts'
import { createUnderstudy } from '../../src/deps.ts'
import { curlOf } from '../../src/views/curl.ts'
import { joinedBytes } from '../../src/views/wire-text.ts'

const settings = { clock: 'virtual', seed: 7, host: '127.0.0.1', instance: 'one' }
const understudies = [1, 2].map(() => {
  const config = { ...readConfig(settings, {}), db: ':memory:', port: 0, skip_latency: true }
  const understudy = createUnderstudy(config, (error) => {
    throw error
  })
  return { config, understudy }
})
let servers: Awaited<ReturnType<typeof listen>> = []
beforeAll(async () => {
  servers = (await Promise.all(understudies.map(({ config, understudy }) => listen(config, understudy)))).flat()
})
afterAll(async () => {
  await Promise.all(servers.map((server) => server.stop(true)))
  for (const { understudy } of understudies) understudy.sessions.close()
})
const [here, there] = [0, 1].map((index) => () => `http://127.0.0.1:${servers[index]?.port}`)
const urlOf = (server: (() => string) | undefined) => server?.() ?? ''

interface Call {
  path: string
  headers?: Record<string, string>
  body: string | FormData | Uint8Array<ArrayBuffer>
  session?: string
}

async function newest(url: string, session = 'default') {
  const json = async (at: string) => (await fetch(`${url}/s/${session}/_understudy/traces${at}`)).json()
  const [record] = ((await json('?limit=1')) as { data: StoredTrace[] }).data
  const trace = (await json(`/${record?.id}`)) as StoredTrace
  return { trace, exchange: (await json(`/${trace.id}/exchange`)) as Exchange }
}

/** The newest of every session. */
async function newestOf(url: string) {
  const response = await fetch(`${url}/_understudy/traces?limit=1&all=true`)
  const [record] = ((await response.json()) as { data: StoredTrace[] }).data
  return newest(url, record?.session)
}

/** Makes a call here, and repeats it there by the command. */
async function repeated({ path, headers, body, session }: Call, variables: Record<string, string> = {}, anew = false) {
  const sent = { authorization: 'Bearer sk-secret', ...headers }
  await fetch(`${urlOf(here)}${path}`, { method: 'POST', headers: sent, body })
    .then((response) => response.bytes())
    .catch(() => {})
  const first = await newest(urlOf(here), session)
  const command = curlOf({ ...first, origin: urlOf(there), inNewSession: anew })
  if (command === undefined) throw new Error('no command')
  const env = { PATH: process.env.PATH ?? '', ...variables }
  const shell = Bun.spawn(['sh'], { env, stdin: Buffer.from(`${command}\n`), stderr: 'ignore' })
  const [output, code] = await Promise.all([new Response(shell.stdout).bytes(), shell.exited])
  const second = anew ? await newestOf(urlOf(there)) : await newest(urlOf(there), session)
  return { command, first, second, output, code }
}

const JSON_TYPE = { 'content-type': 'application/json' }
const ANTHROPIC = { ...JSON_TYPE, 'x-api-key': 'sk-ant-secret', 'anthropic-version': '2023-06-01' }
const messages = [{ role: 'user', content: 'It\'s me: "$HOME" `id` \\ é 👋\n@file' }]
const text = (more: object) => JSON.stringify({ model: 'gpt-4o', messages, ...more }, null, 1)
const form = () => {
  const fields = new FormData()
  fields.append('model', 'openai/whisper-1')
  fields.append('file', new File([new Uint8Array([0, 255, 128, 10, 13])], 'a b.wav', { type: 'audio/wav' }))
  return fields
}
const scenario = (name: string) => ({ 'x-understudy-scenario': name })

const CALLS: [string, Call][] = [
  ['a chat', { path: '/v1/chat/completions', headers: JSON_TYPE, body: text({ odd: 1 }) }],
  [
    'a router call',
    { path: '/v2/router/chat/completions', headers: JSON_TYPE, body: text({ model: 'openai/gpt-4o' }) },
  ],
  ['a stream', { path: '/v1/chat/completions', headers: JSON_TYPE, body: text({ stream: true }) }],
  [
    'a truncated stream',
    {
      path: '/v1/chat/completions',
      headers: { ...JSON_TYPE, ...scenario('stream-cut') },
      body: text({ stream: true }),
    },
  ],
  [
    'a malformed stream of responses',
    {
      path: '/v1/responses',
      headers: { ...JSON_TYPE, ...scenario('stream-malformed') },
      body: JSON.stringify({ model: 'gpt-4o', input: 'Hi', stream: true }),
    },
  ],
  [
    "an error in Anthropic's stream",
    {
      path: '/v1/messages?beta=true',
      headers: { ...ANTHROPIC, ...scenario('stream-error'), 'idempotency-key': 'k-1' },
      body: text({ model: 'claude-sonnet-4', max_tokens: 50, stream: true }),
    },
  ],
  [
    'an error response',
    { path: '/v1/chat/completions', headers: { ...JSON_TYPE, ...scenario('rate-limit-burst') }, body: text({}) },
  ],
  [
    'a session in the path',
    {
      path: '/s/mine/v1/embeddings',
      headers: JSON_TYPE,
      body: '{"model":"text-embedding-3-small","input":"[a]"}',
      session: 'mine',
    },
  ],
  [
    'a session in the token',
    {
      path: '/v1/completions',
      headers: { ...JSON_TYPE, authorization: 'Bearer session:own' },
      body: '{"model":"gpt-3.5-turbo-instruct","prompt":"x"}',
      session: 'own',
    },
  ],
  [
    'a session behind the token',
    {
      path: '/v1/moderations',
      headers: { ...JSON_TYPE, authorization: 'Bearer sk-secret#behind' },
      body: '{"input":"x"}',
      session: 'behind',
    },
  ],
  ['invalid JSON', { path: '/v1/chat/completions', headers: JSON_TYPE, body: '{"model": "gpt-4o", ' }],
  [
    'bytes that are not text',
    { path: '/v1/chat/completions', headers: JSON_TYPE, body: new Uint8Array([123, 0, 255, 39]) },
  ],
  ['a missing body', { path: '/v1/chat/completions', headers: JSON_TYPE, body: '' }],
  [
    'a body longer than a command-line argument',
    {
      path: '/v1/embeddings',
      headers: JSON_TYPE,
      body: JSON.stringify({ model: 'text-embedding-3-small', input: 'word '.repeat(40_000) }),
    },
  ],
  ['a form', { path: '/v1/audio/transcriptions', body: form() }],
  [
    'audio',
    { path: '/v1/audio/speech', headers: JSON_TYPE, body: '{"model":"gpt-4o-mini-tts","voice":"alloy","input":"Hi"}' },
  ],
]

test.each(CALLS)('repeat command: sends %s byte for byte', async (_, call) => {
  const { command, first, second, output, code } = await repeated(call)
  expect(second.exchange.request).toMatchObject({
    address: first.exchange.request?.address as string,
    body: first.exchange.request?.body as object,
  })
  const { response, ended } = first.exchange
  expect(second.exchange.response).toMatchObject({
    status: response?.status as number,
    bytes: response?.bytes as number,
  })
  expect(second.exchange.response?.body).toEqual(response?.body as never)
  expect(second.exchange.ended).toBe(ended)
  if (!response?.truncated) expect(Buffer.from(output)).toEqual(Buffer.from(joinedBytes(response?.body ?? [])))
  // 18: less came than was announced; 56: the connection was reset.
  expect(ended === 'complete' ? [0] : [18, 56]).toContain(code)
  expect(second.trace.session).toBe(first.trace.session)
  expect(second.trace.scenario).toBe(first.trace.scenario)
  expect(command).not.toContain('secret')
  expect(JSON.stringify(first)).not.toContain('secret')
})

test('repeat command in a new session: starts the scenario from the beginning each time', async () => {
  const headers = { ...JSON_TYPE, ...scenario('rate-limit-burst'), authorization: 'Bearer session:burst' }
  const call = { session: 'burst', path: '/s/burst/v1/chat/completions', headers, body: text({}) }
  const faults = []
  for (let count = 0; count < 4; count++) {
    const { first, second, code } = await repeated(call, {}, true)
    expect([first.trace.session, code]).toEqual(['burst', 0])
    expect(second.trace.session).toMatch(/^repeat-\d+$/)
    expect(second.exchange.request).toMatchObject({ address: '/v1/chat/completions', body: { text: text({}) } })
    faults.push([first.trace.status, second.trace.status])
  }
  expect(faults.map(([own]) => own)).toEqual([429, 429, 200, 200])
  expect(faults[0]?.[1]).toBe(429)
})

test('repeat command: takes the token and other secrets from shell variables', async () => {
  const call = {
    path: '/v1/messages?key=AIza-secret',
    headers: { ...ANTHROPIC, 'x-team-token': 'team-secret' },
    body: '{}',
  }
  const { command } = await repeated(call)
  expect(command).toMatch(/"x-api-key: \$\{ANTHROPIC_API_KEY:-any\}"/)
  expect(command).toMatch(/"x-team-token: \$\{X_TEAM_TOKEN:-any\}"/)
  expect(command).toMatch(/"key=\$\{KEY:-any\}"/)
  expect(command).toContain("-H 'anthropic-version: 2023-06-01'")
  expect(command).not.toContain('secret')
})

test('repeat command: sends a long form with its fields and names its files', async () => {
  const fields = form()
  fields.set('prompt', '@home; é')
  fields.set('file', new File([new Uint8Array(200_000)], 'a long one.wav', { type: 'audio/wav' }))
  const { first, command } = await repeated({ path: '/v1/audio/translations', body: fields })
  expect(first.exchange.request).toMatchObject({ truncated: true, bytes: expect.any(Number) as number })
  expect(command).toContain("--form-string 'prompt=@home; é'")
  expect(command).toContain(`-F 'file=@"a long one.wav";type=audio/x-wav'`)
  expect(command).not.toContain('content-type')
})

test('repeat command: does not exist for a call that is not stored', async () => {
  const body = form()
  body.append('enable_logging', 'false')
  const sent = { method: 'POST', headers: { authorization: 'Bearer x' }, body }
  await fetch(`${urlOf(here)}/s/unstored/v1/audio/translations`, sent).then((response) => response.bytes())
  const { exchange, trace } = await newest(urlOf(here), 'unstored')
  expect(exchange).toEqual({ object: 'exchange', request: null, response: null, ended: null })
  expect(curlOf({ trace, exchange, origin: '' })).toBeUndefined()
})
