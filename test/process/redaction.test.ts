// Planted secrets are in no file and no response of a server that records or replays. Slow because a server that records, and one
// that replays, redact all kinds of secrets in each way.
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type OwnProcessServer, runCommand, serveHere } from '../support/cli.ts'
import { PLANTED, secretPart } from '../support/planted-secrets.ts'
import { emptyFolder } from '../support/server.ts'

const KEY = 'providerkey-9f8e7d6c5b4a3210-zz'
const CLIENT_KEY = 'client-token-4f5e6d7c8b9a'
const COOKIE = 'cookie-of-the-account-77'
const folder = emptyFolder()
const cassettes = join(folder.path, 'cassettes')
afterAll(folder.remove)

/** A provider that repeats what it receives, its key included, in pieces of a few characters. */
let requests = 0
const upstream = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  async fetch(request) {
    requests++
    const { model, stream, messages } = (await request.json()) as {
      model: string
      stream?: boolean
      messages: { content: string }[]
    }
    const content = messages.at(-1)?.content ?? ''
    const headers = { 'x-request-id': `req-${KEY}`, 'set-cookie': `session=${COOKIE}` }
    const encoded = Buffer.from(`user:${KEY}`).toString('base64')
    if (content.startsWith('fail'))
      return Response.json(
        { error: { message: `${content}: ${KEY}, ${encoded}`, code: 'x' } },
        { status: 400, headers },
      )
    const call = { name: 'note', arguments: JSON.stringify({ note: content }) }
    const fields = { id: 'c', created: 1, model }
    if (!stream) {
      const message = { role: 'assistant', content, tool_calls: [{ id: 'call_1', type: 'function', function: call }] }
      const choices = [{ index: 0, finish_reason: 'stop', message }]
      const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 }
      return Response.json({ ...fields, object: 'chat.completion', choices, usage }, { headers })
    }
    const chunk = (delta: object, finish_reason: string | null = null) =>
      `data: ${JSON.stringify({ ...fields, object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason }] })}\n\n`
    const pieces = (text: string) => text.match(/[\s\S]{1,9}/gu) ?? []
    const events = [
      ...pieces(content).map((part) => chunk({ content: part })),
      chunk({
        tool_calls: [{ index: 0, id: 'call_1', type: 'function', function: { name: call.name, arguments: '' } }],
      }),
      ...pieces(call.arguments).map((part) => chunk({ tool_calls: [{ index: 0, function: { arguments: part } }] })),
      chunk({}, 'tool_calls'),
      'data: [DONE]\n\n',
    ]
    return new Response(events.join(''), { headers: { ...headers, 'content-type': 'text/event-stream' } })
  },
})
afterAll(() => upstream.stop(true))
const settings = { base_url: `http://127.0.0.1:${upstream.port}/v1`, api_key: KEY, backend: 'forward' }
writeFileSync(join(folder.path, 'understudy.yaml'), JSON.stringify({ providers: { openai: settings } }))

const secrets = [...Object.values(PLANTED).map(secretPart), KEY, CLIENT_KEY, COOKIE]
const formsOf = (secret: string) => {
  const json = JSON.stringify(secret).slice(1, -1)
  return [...new Set([secret, json, JSON.stringify(json).slice(1, -1), encodeURIComponent(secret)])]
}
const FORMS = secrets.flatMap((secret) => formsOf(secret).map((form) => ({ secret, form })))
/** The secrets that a text contains. */
const leaksIn = (text: string) => FORMS.filter(({ form }) => text.includes(form)).map(({ secret }) => secret)
/** The secrets that bytes contain; all but some cards are ASCII, which texts in any of the usual encodings have unchanged. */
const leaksInBytes = (bytes: Buffer) => FORMS.filter(({ form }) => bytes.includes(form)).map(({ secret }) => secret)

const filesIn = (path: string): string[] =>
  readdirSync(path).flatMap((name) => {
    const file = join(path, name)
    return statSync(file).isDirectory() ? filesIn(file) : [file]
  })
/** The secrets in the files of the folder, but for the settings. */
const leaksInFiles = () =>
  filesIn(folder.path).flatMap((file) => {
    if (file.endsWith('understudy.yaml')) return []
    return leaksInBytes(readFileSync(file)).map((secret) => ({ file, secret }))
  })

const CALLS: [path: string, stream: boolean, prefix: string][] = [
  ['/v1/chat/completions', false, ''],
  ['/v1/chat/completions', true, ''],
  ['/v2/router/chat/completions', true, ''],
  ['/v2/router/chat/completions', false, 'fail '],
]
/** How many kinds of secrets a prompt has. */
const KINDS = 12
/** The secrets of each prompt. */
const named = Object.entries(PLANTED).map(([kind, secret]) => `${kind} is ${secret}`)
const PROMPTS = Array.from({ length: Math.ceil(named.length / KINDS) }, (_, index) =>
  named.slice(KINDS * index).slice(0, KINDS),
)
/** What the client receives for every prompt in every way: the joined text of a stream. */
async function makeCalls(url: string): Promise<string[]> {
  const received: string[] = []
  for (const prompt of PROMPTS)
    for (const [path, stream, prefix] of CALLS) {
      const text = prompt.join(' ; ')
      const query = `?note=${encodeURIComponent(text)}`
      const response = await fetch(`${url}${path}${query}`, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          authorization: `Bearer ${CLIENT_KEY}`,
          // A header is ASCII.
          'x-note': text.replaceAll('\n', ' ').replace(/[^\x20-\x7e]/g, encodeURIComponent),
        },
        body: JSON.stringify({
          model: 'openai/gpt-4o',
          stream,
          messages: [{ role: 'user', content: `${prefix}${text} ok` }],
        }),
      })
      const body = await response.text()
      const parts = [...body.matchAll(/^data: (\{.*)$/gm)].map(
        ([, json = '']) => JSON.parse(json).choices[0]?.delta ?? {},
      )
      const content = parts.map((delta) => delta.content ?? '').join('')
      const args = parts.map(({ tool_calls: calls }) => calls?.[0]?.function?.arguments ?? '').join('')
      received.push(`${response.status} ${parts.length > 0 ? `${content} ${args}` : body}`)
    }
  return received
}
/** Without the key of the provider, which no client receives, and ids of calls. */
const comparable = (text: string) =>
  text
    .replace(/\[key\]|<secret:api-key:\d+>|dTpwcm\w+|dXNlcjp(?:\w+|<secret:api-key:\d+>=*)/g, 'KEY')
    .replace(/"(?:id|trace_id)":"[^"]*"/g, '"id":""')

let recorded: string[]
let recording: OwnProcessServer
beforeAll(async () => {
  const args = ['--record', cassettes, '--db', join(folder.path, 'data.db'), '--log', 'json', '--port', '0']
  recording = await serveHere(args, { cwd: folder.path })
  recorded = await makeCalls(recording.url)
}, 60_000)

test('recording: passes the own values of a client back to it', () => {
  const missing = recorded.flatMap((text, index) => {
    const kinds = Object.values(PLANTED)
      .slice(KINDS * Math.floor(index / CALLS.length))
      .slice(0, KINDS)
    return kinds.filter((secret) => !text.includes(JSON.stringify(secretPart(secret)).slice(1, -1)))
  })
  expect(missing).toEqual([])
  // The search finds them where they are.
  expect(new Set(leaksIn(recorded.join('\n')))).toEqual(new Set(Object.values(PLANTED).map(secretPart)))
})

test('recording: leaves no secret in the control API', async () => {
  const paths = ['traces?limit=200', 'cassettes', 'calls', 'sessions', 'metrics']
  const { data } = (await (await fetch(`${recording.url}/_understudy/traces?limit=200`)).json()) as {
    data: { id: string }[]
  }
  expect(data.length).toBe(recorded.length)
  paths.push(...data.map(({ id }) => `traces/${id}/exchange`))
  const some = data.filter((_, index) => index % 10 === 0)
  for (const part of ['', '/reproduction', '/waterfall']) paths.push(...some.map(({ id }) => `traces/${id}${part}`))
  const found = await Promise.all(
    paths.map(async (path) => {
      const response = await fetch(`${recording.url}/_understudy/${path}`)
      return { path, status: response.status, secrets: leaksIn(await response.text()) }
    }),
  )
  expect(found.filter(({ status, secrets }) => status !== 200 || secrets.length > 0)).toEqual([])
}, 30_000)

test('recording: leaves no secret in the database, its log and the cassette', async () => {
  expect(filesIn(folder.path).some((file) => file.endsWith('-wal'))).toBe(true)
  expect(leaksInFiles()).toEqual([])
  expect(await recording.stop()).toBe(0)
  expect(leaksIn(recording.stderr())).toEqual([])
  const html = join(folder.path, 'export.html')
  const { code, stdout, stderr } = await runCommand([
    'trace',
    'export',
    '--html',
    html,
    '--db',
    join(folder.path, 'data.db'),
  ])
  expect({ code, leaks: leaksIn(stdout + stderr) }).toEqual({ code: 0, leaks: [] })
  expect(statSync(html).size).toBeGreaterThan(10_000)
  expect(leaksInFiles()).toEqual([])
}, 30_000)

test('replay: finds every request, and leaves no secret either', async () => {
  const before = requests
  const args = ['--replay', cassettes, '--speed', 'instant', '--db', join(folder.path, 'replayed.db'), '--log', 'json']
  const replaying = await serveHere(args, { cwd: folder.path })
  const replayed = await makeCalls(replaying.url)
  expect(replayed.map(comparable)).toEqual(recorded.map(comparable))
  expect(requests).toBe(before)
  const report = await (await fetch(`${replaying.url}/_understudy/cassettes`)).text()
  expect(leaksIn(report)).toEqual([])
  expect(leaksInFiles()).toEqual([])
  await replaying.stop()
  expect(leaksIn(replaying.stderr())).toEqual([])
  expect(leaksInFiles()).toEqual([])
}, 60_000)
