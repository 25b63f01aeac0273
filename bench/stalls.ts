// npm run bench stalls [NAME] [EXECUTABLE]: how long a server leaves others without an answer while it is given, for each row of
// docs/limits.md, what is at or beyond its limit, and other heavy calls. A second program asks for /_understudy/livez every 10 ms; the
// longest wait counts.
import { join } from 'node:path'
import { docxOf } from '../test/support/documents.ts'
import { headers } from './headers.ts'
import { BenchError } from './options.ts'
import { bodyOf, ROUTER } from './servers.ts'
import { atEnd, post, scratch, serveArgs, start, understudy } from './support.ts'

const EVERY_MS = 10
/** Small calls before the first row, so that nothing is loaded or compiled for the first time. */
const WARM_UP = 300
/** What nobody is waited for beyond: heavy rows are ended by limits of 10 s. */
const MAX_MS = 15_000

type Json = Record<string, unknown>
type Content = string | Uint8Array<ArrayBuffer>
/** A call that is sent while others ask. */
interface Sent {
  path: string
  body?: Content | FormData
  method?: 'GET' | 'PUT' | 'POST' | 'DELETE'
}
interface Row {
  /** Prepared before anybody measures. */
  calls(url: string): Promise<Sent[]> | Sent[]
  /** Whether what is asked for goes on after the answer: until the datasource is read. */
  reads?: boolean
}

/** The program that asks; prints the longest wait in ms when its standard input ends. */
if (process.argv[2] === 'ask') {
  const [url = ''] = process.argv.slice(3)
  let longest = 0
  let asked = 0
  let ending = false
  process.stdin.once('data', () => {
    ending = true
  })
  for (let number = 0; !ending; number++) {
    const sent = performance.now()
    const { status } = await fetch(`${url}/_understudy/livez`)
    const wait = performance.now() - sent
    if (status !== 200) throw new BenchError(`livez answered ${status}`)
    // The first ones load and connect.
    if (number === 20) console.log('ready')
    if (number > 20) {
      longest = Math.max(longest, wait)
      asked++
    }
    await Bun.sleep(Math.max(0, EVERY_MS - wait))
  }
  console.log(JSON.stringify({ longest, asked }))
  process.exit(0)
}

const [only = '', executable = understudy] = process.argv.slice(2)

const chat = (more: object): Sent => ({
  path: ROUTER,
  body: JSON.stringify({ model: 'openai/gpt-4o', messages: [{ role: 'user', content: 'Hi' }], ...more }),
})
const said = (content: string, more: object = {}) => chat({ messages: [{ role: 'user', content }], ...more })
const format = (schema: object) =>
  chat({ response_format: { type: 'json_schema', json_schema: { name: 'a', schema } } })
const spoken = (type: string) =>
  said(words(200), { modalities: ['text', 'audio'], audio: { voice: 'alloy', format: type }, verbosity: 'high' })
const pictures = (more: object) =>
  sent('/v2/router/images/generations', {
    ...{ model: 'openai/gpt-image-1', prompt: 'A lighthouse', n: 10, size: '1536x1024' },
    ...more,
  })
/** Alternating messages of a conversation. */
const talk = (count: number, contentOf: (index: number) => string = () => 'Hello there, you') =>
  chat({
    messages: list(count, (index) => ({ role: index % 2 ? 'assistant' : 'user', content: contentOf(index) })),
  })

/** References that double, so that a value is held against the last of them 2^40 times. */
function doubling(end: Json): Json {
  const $defs: Json = { a40: end }
  for (let level = 0; level < 40; level++) {
    const next = { $ref: `#/$defs/a${level + 1}` }
    $defs[`a${level}`] = { allOf: [next, { ...next, title: 'again' }] }
  }
  return { $defs, type: 'object', properties: { x: { $ref: '#/$defs/a0' } }, required: ['x'] }
}
const properties = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`p${index}`, { anyOf: [{}] }]))

/** Words without end, no two alike. */
function words(length: number): string {
  const parts: string[] = []
  for (let state = 1, size = 0; size < length; ) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    const word = state.toString(36).replace(/\d/g, 'e')
    parts.push(word)
    size += word.length + 1
  }
  return parts.join(' ').slice(0, length)
}
const list = <Item>(count: number, of: (index: number) => Item): Item[] =>
  Array.from({ length: count }, (_, i) => of(i))
const numbers = list(80_000, (index) => `+1555${1_000_000 + index}`).join(' ')

async function ask(url: string, { path, body, method = 'POST' }: Sent): Promise<{ status: number; json: Json }> {
  const form = body instanceof FormData
  const response = await fetch(`${url}${path}`, {
    method,
    headers: form ? { authorization: headers.authorization } : headers,
    ...(body !== undefined && { body }),
    signal: AbortSignal.timeout(MAX_MS),
  })
  const text = await response.text()
  try {
    return { status: response.status, json: JSON.parse(text) as Json }
  } catch {
    return { status: response.status, json: {} }
  }
}
const sent = (path: string, body: unknown, method: Sent['method'] = 'POST'): Sent => ({
  path,
  body: JSON.stringify(body),
  method,
})
async function made(url: string, call: Sent): Promise<Json> {
  const { status, json } = await ask(url, call)
  if (status > 299) throw new BenchError(`${call.path} answered ${status}: ${JSON.stringify(json).slice(0, 300)}`)
  return json
}

async function datasource(url: string, name: string, content: Content, chunking_options?: Json): Promise<Sent[]> {
  const form = new FormData()
  form.set('file', new File([content], name))
  const { _id: file_id } = await made(url, { path: '/v2/files', body: form })
  const { _id: base } = await made(url, sent('/v2/knowledge', { key: `base-${Date.now()}` }))
  return [sent(`/v2/knowledge/${base}/datasources`, { file_id, ...(chunking_options && { chunking_options }) })]
}
async function evaluator(url: string, key: string, more: Json): Promise<string> {
  await made(url, sent('/v2/evaluators', { key, path: 'Default', ...more }))
  return `/v2/evaluators/${key}/invoke`
}

/** A valid snapshot with so many contacts. */
async function snapshot(url: string, count: number): Promise<string> {
  const { _id } = await made(url, sent('/v2/contacts', { external_id: `user-${Date.now()}` }))
  const response = await fetch(`${url}/_understudy/snapshot`, { headers })
  const whole = (await response.json()) as { tables: { records: { seq: number; id: string; body: Json }[] } }
  const one = whole.tables.records.find(({ id }) => id === _id)
  if (!one) throw new BenchError('the snapshot has no record of the contact')
  const records = list(count, (index) => {
    const id = `${one.id.slice(0, -7)}${String(index).padStart(7, '0')}`
    const key = `user-${index}`
    return { ...one, seq: one.seq + index, id, key, body: { ...one.body, _id: id, external_id: key } }
  })
  return JSON.stringify({ ...whole, tables: { ...whole.tables, records } })
}

/** A call, once a session with a file has 40,000 records. */
async function loaded(url: string, call: Sent): Promise<Sent> {
  await made(url, { path: '/s/loaded/_understudy/snapshot', body: await snapshot(url, 40_000) })
  return call
}

const MEGABYTE = 1_000_000
const filler = (length: number, piece: string) => piece.repeat(Math.floor(length / piece.length))
const raw = (body: string, path = ROUTER): Sent => ({ path, body })
/** A body of so many values that no field of the API takes, in JSON of the shortest kind or in objects. */
const values = (bytes: number) => `{"model":"openai/gpt-4o","metadata":[${filler(bytes, '{"a":1},').slice(0, -1)}]}`

const ROWS: Record<string, Row> = {
  nothing: { calls: () => [said('Hi')] },
  'a value for a schema: references that double': { calls: () => [format(doubling({ not: {} }))] },
  'a value for a schema: 20,000 characters': {
    calls: () => [format({ type: 'object', properties: properties(800), required: Object.keys(properties(800)) })],
  },
  'a schema of 1.3 million characters': { calls: () => [format({ type: 'object', properties: properties(60_000) })] },
  'a schema of 1 million characters': { calls: () => [format({ type: 'object', properties: properties(34_000) })] },
  'a text against a schema': {
    calls: async (url) => [
      sent(await evaluator(url, 'doubling', { type: 'json_schema', schema: doubling({ type: 'string' }) }), {
        output: '{"x":1}',
      }),
    ],
  },
  'templates of a request': {
    calls: () => [
      said('{{ range(9000000) }}', { template_engine: 'jinja' }),
      said('{% for a in range(900000) %}{{ a }}{% endfor %}', { template_engine: 'jinja' }),
    ],
  },
  'templates of a request: 50,000 characters': {
    calls: () => [
      said(filler(49_000, '{{ a | upper }} {% if a %}b{% endif %} '), {
        template_engine: 'jinja',
        variables: { a: 'b' },
      }),
    ],
  },
  "templates of a fixture's reply": {
    async calls(url) {
      const content = `${'{{#call.messages}}'.repeat(5)}x${'{{/call.messages}}'.repeat(5)}`
      const fixtures = [{ name: 'often', match: { operation: 'chat.completions' }, reply: { content } }]
      await made(url, sent('/_understudy/sessions/often', { fixtures }, 'PUT'))
      const { body } = chat({ messages: list(100, () => ({ role: 'user', content: 'Hi' })) })
      return [{ path: `/s/often${ROUTER}`, body }]
    },
  },
  'the prompt of an evaluator': {
    async calls(url) {
      const judge = { type: 'llm_eval', model: 'openai/gpt-4o', output_type: 'boolean' }
      const path = await evaluator(url, 'judge', { ...judge, prompt: '{{log.output}}'.repeat(5_000) })
      return [sent(path, { output: 'x'.repeat(20_000) }), sent(path, { output: 'x'.repeat(3_000) })]
    },
  },
  'a built-in guardrail': {
    calls: () => [said(numbers, { guardrails: [{ id: 'svc_pii_detection', execute_on: 'input' }] })],
  },
  'reading a document': {
    calls: async (url) => datasource(url, 'a.docx', await docxOf('<w:p><w:r><w:t>a</w:t></w:r></w:p>'.repeat(400_000))),
    reads: true,
  },
  'reading a document: 9,900 characters of plain text': {
    calls: async (url) => datasource(url, 'a.txt', words(9_900)),
    reads: true,
  },
  'cutting a document': {
    calls: async (url) =>
      datasource(url, 'a.txt', 'a'.repeat(200_000), {
        chunking_configuration: { type: 'advanced', chunk_max_characters: 1 },
      }),
    reads: true,
  },
  'tokens: 50,000 characters without a space': {
    calls: () => [said(words(60_000).replaceAll(' ', '').slice(0, 49_000))],
  },
  'tokens: 50,000 characters of words': { calls: () => [said(words(49_000))] },
  'tokens: 50,000 signs of one kind': { calls: () => [said('='.repeat(49_000))] },
  'tokens: 10 million characters': { calls: () => [said(words(10 * MEGABYTE))] },
  'tokens: 10 million characters, for the cache': {
    calls: () => [said(words(10 * MEGABYTE), { cache: { type: 'exact_match', ttl: 60 } })],
  },
  'tokens: 10 million characters with variables': {
    calls: () => [said(words(10 * MEGABYTE), { variables: { a: 'b' } })],
  },
  'tokens: 10 million characters without a space': { calls: () => [said('a'.repeat(10 * MEGABYTE))] },
  'tokens: 10 million characters in 50,000 messages': {
    calls() {
      const text = words(10 * MEGABYTE)
      return [talk(50_000, (index) => text.slice(index * 200, index * 200 + 200))]
    },
  },
  'tokens of an embedding': {
    calls: () => [
      sent('/v2/router/embeddings', { model: 'openai/text-embedding-3-small', input: list(2_000, () => words(5_000)) }),
    ],
  },
  pictures: { calls: () => [pictures({})] },
  'pictures: webp, cut out': { calls: () => [pictures({ background: 'transparent', output_format: 'webp' })] },
  'speech: flac': { calls: () => [spoken('flac')] },
  'speech: opus': { calls: () => [spoken('opus')] },
  'speech: mp3': { calls: () => [spoken('mp3')] },
  'the pattern of a schema': {
    calls: () => {
      const pattern = '^(?=.*[a-z])(?=.*[A-Z])(?=.*\\d)(?=.*[!@#$%])(?!.*(.)\\1)(?=.{20,200}$)[\\w!@#$%]+$'
      return [format({ type: 'object', properties: { a: { type: 'string', pattern } }, required: ['a'] })]
    },
  },
  'waiting for a worker: 700 jobs': {
    calls: () => list(700, (index) => format(doubling({ not: { title: String(index) } }))),
  },
  'a request: nested deep': { calls: () => [raw(`${'['.repeat(10_000)}${']'.repeat(10_000)}`)] },
  'a request: 32 MB nested deep': { calls: () => [raw('['.repeat(32 * MEGABYTE))] },
  'a request: 2.4 MB in values': { calls: () => [raw(values(2.4 * MEGABYTE))] },
  'a request: 7 MB in values': { calls: () => [raw(values(7 * MEGABYTE))] },
  'a request: 32 MB in values': { calls: () => [raw(values(32 * MEGABYTE))] },
  'a request: 32 MB of one text': { calls: () => [said(filler(32 * MEGABYTE, 'ab cd '))] },
  'a request: 32 MB of escapes': {
    calls: () => [
      raw(
        bodyOf({ form: 'whole' }).replace(/"content":"[^"]*"/, () => `"content":"${filler(32 * MEGABYTE, '\\u00e4')}"`),
      ),
    ],
  },
  'a request: 30 MB in messages': { calls: () => [talk(500_000)] },
  'a request: as many messages as may be': { calls: () => [talk(130_000)] },
  'a request: 2.4 MB in messages': { calls: () => [talk(40_000)] },
  'a request: 7 MB in variables': {
    calls: () => [
      said('{{a}}', { variables: Object.fromEntries(list(250_000, (index) => [`name-${index}`, 'some value'])) }),
    ],
  },
  'a request: as many numbers as may be': {
    calls: () => [
      sent('/v2/router/embeddings', {
        model: 'openai/text-embedding-3-small',
        input: list(190, () => list(2_000, (index) => 100 + index)),
      }),
    ],
  },
  'a request of the workspace: as many values as may be': {
    calls: () => [sent('/v2/contacts', { external_id: 'large', metadata: list(49_000, () => ({ a: 1 })) })],
  },
  'a request of the workspace: as many fields as may be': {
    calls: () => [
      sent('/v2/contacts', {
        external_id: 'large',
        metadata: Object.fromEntries(list(99_000, (index) => [`name-${index}`, 1])),
      }),
    ],
  },
  'datapoints: 5,000': {
    async calls(url) {
      const { _id } = await made(url, sent('/v2/datasets', { display_name: `many-${Date.now()}`, path: 'Default' }))
      return [
        sent(
          `/v2/datasets/${_id}/datapoints`,
          list(5_000, (index) => ({ inputs: { a: index }, expected_output: 'x' })),
        ),
      ]
    },
  },
  'the patterns of fixtures': {
    async calls(url) {
      const match = { operation: 'chat.completions', user: { regex: '^(?:(?<x>a+)+)+\\k<x>!$' } }
      await made(url, sent('/_understudy/sessions/slow', { fixtures: [{ match, reply: { content: 'x' } }] }, 'PUT'))
      return [{ ...said('a'.repeat(5_000)), path: `/s/slow${ROUTER}` }]
    },
  },
  "a provider's response: 70 MB": { calls: () => [chat({ model: 'upstream/large' })] },
  "a provider's response: 30 MB in values": { calls: () => [chat({ model: 'upstream/values' })] },
  "a provider's response: 60 MB of one text": { calls: () => [chat({ model: 'upstream/text' })] },
  "a provider's response: 30 MB of events": { calls: () => [chat({ model: 'upstream/events', stream: true })] },
  'a snapshot of 40,000 records': {
    calls: async (url) => [{ path: '/s/loaded/_understudy/snapshot', body: await snapshot(url, 40_000) }],
  },
  'a snapshot of 5,000 records': {
    calls: async (url) => [{ path: '/s/loaded/_understudy/snapshot', body: await snapshot(url, 5_000) }],
  },
  'saving a snapshot of 40,000 records': {
    calls: async (url) => [await loaded(url, { path: '/s/loaded/_understudy/snapshot', method: 'GET' })],
  },
  'a reset of 40,000 records': {
    calls: async (url) => [await loaded(url, sent('/_understudy/sessions/loaded/reset', {}))],
  },
  'clearing a dataset of 40,000 datapoints': {
    async calls(url) {
      const { _id } = await made(url, sent('/v2/datasets', { display_name: `many-${Date.now()}`, path: 'Default' }))
      const points = list(5_000, (index) => ({ inputs: { a: index }, expected_output: 'x' }))
      for (let call = 0; call < 8; call++) await made(url, sent(`/v2/datasets/${_id}/datapoints`, points))
      return [{ path: `/v2/datasets/${_id}/clear`, method: 'DELETE' }]
    },
  },
  'a seed in a request': {
    calls: () => [sent('/_understudy/seed', { yaml: `contacts:\n${'- { external_id: x }\n'.repeat(30_000)}` })],
  },
  'a seed in a request: 4,000 contacts': {
    calls: () => [
      sent('/_understudy/seed', {
        yaml: `contacts:\n${list(4_000, (index) => `- { external_id: x${index} }\n`).join('')}`,
      }),
    ],
  },
  'a seed in a request as JSON': {
    calls: () => [sent('/_understudy/seed', { contacts: list(100_000, (index) => ({ external_id: `x${index}` })) })],
  },
  'YAML in a request': {
    calls: () => [
      sent('/_understudy/scenario', { text: `name: long\nrules:\n${'- { name: x }\n'.repeat(17_000)}` }, 'PUT'),
    ],
  },
  '600 new durable sessions, made': {
    calls: () => list(600, (index) => sent(`/_understudy/sessions/made-${index}`, {}, 'PUT')),
  },
  '600 new durable sessions, called': {
    calls: () => list(600, (index) => ({ ...said('Hi'), path: `/s/called-${index}${ROUTER}` })),
  },
  '600 new durable sessions, called 5 times': {
    calls: () => list(3_000, (index) => ({ ...said('Hi'), path: `/s/again-${index % 600}${ROUTER}` })),
  },
}

/** A provider of responses that are too large, or nearly so. */
function provider(): { url: string; stop(): void } {
  const completion = (content: unknown) =>
    JSON.stringify({
      id: 'c',
      object: 'chat.completion',
      created: 1,
      model: 'gpt-4o',
      choices: [{ index: 0, message: { role: 'assistant', content, refusal: null }, finish_reason: 'stop' }],
    })
  const chunk = (content: string, finish_reason: string | null = null) =>
    `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'gpt-4o', choices: [{ index: 0, delta: { role: 'assistant', content }, finish_reason }] })}\n\n`
  const bodies: Record<string, string> = {
    large: completion(filler(70 * MEGABYTE, 'ab cd ')),
    values: completion(list(3_500_000, () => ({ a: 1 }))),
    text: completion(filler(60 * MEGABYTE, 'ab cd ')),
    events: `${chunk('ab cd ').repeat(180_000)}${chunk('', 'stop')}data: [DONE]\n\n`,
  }
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      const { model = '', stream = false } = (await request.json()) as { model?: string; stream?: boolean }
      return new Response(bodies[model], {
        headers: { 'content-type': stream ? 'text/event-stream' : 'application/json' },
      })
    },
  })
  return { url: server.url.href, stop: () => void server.stop(true) }
}

interface Asking {
  end(): Promise<{ longest: number; asked: number }>
}
async function beginAsking(url: string): Promise<Asking> {
  const child = Bun.spawn([process.execPath, import.meta.path, 'ask', url], { stdin: 'pipe', stdout: 'pipe' })
  const kill = atEnd(() => child.kill('SIGKILL'))
  const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader()
  await reader.read()
  return {
    async end() {
      child.stdin.write('end\n')
      child.stdin.flush()
      const { value = '{}' } = await reader.read()
      await child.exited
      kill()
      return JSON.parse(value)
    },
  }
}

/** Waits until a datasource is read, or could not be. */
async function untilRead(url: string, path: string, id: string): Promise<string> {
  for (;;) {
    const response = await fetch(`${url}${path}/${id}`, { headers })
    const { status } = (await response.json()) as { status: string }
    if (status === 'completed' || status === 'failed') return status
    await Bun.sleep(200)
  }
}

async function measure(
  url: string,
  { calls, reads }: Row,
): Promise<{ statuses: string; took: number; longest: number; asked: number }> {
  const all = await calls(url)
  const asking = await beginAsking(url)
  const began = performance.now()
  const answers = await Promise.all(
    all.map((call) => ask(url, call).catch((): { status: number; json: Json } => ({ status: 0, json: {} }))),
  )
  const [first] = answers
  const counted = Map.groupBy(answers, ({ status }) => status)
  const statuses = [...counted].map(([status, { length }]) => (length > 1 ? `${status} x ${length}` : status))
  if (reads && all[0]) statuses.push(await untilRead(url, all[0].path, String(first?.json._id)))
  const took = performance.now() - began
  return { statuses: statuses.join(', '), took, ...(await asking.end()) }
}

const { folder } = scratch()
const upstream = provider()
atEnd(upstream.stop)
const config = join(folder, 'settings.yaml')
await Bun.write(config, `providers:\n  upstream: { base_url: "${upstream.url}v1", backend: forward }\n`)
const results: object[] = []
for (const [name, row] of Object.entries(ROWS)) {
  if (!name.includes(only)) continue
  const args = [
    ...serveArgs(executable),
    '--sessions-dir',
    join(folder, `sessions-${results.length}`),
    '--config',
    config,
  ]
  const server = await start({ args })
  try {
    for (let call = 0; call < WARM_UP; call++) await post(`${server.url}${ROUTER}`, bodyOf({ form: 'whole' }))
    const { longest, took, asked, statuses } = await measure(server.url, row)
    const result = {
      'given to the server': name,
      answer: statuses,
      'longest wait ms': Math.round(longest),
      'took ms': Math.round(took),
      asked,
    }
    console.error(JSON.stringify(result))
    results.push(result)
  } finally {
    await server.stop()
  }
}
if (results.length === 0)
  throw new BenchError(`no row has ${JSON.stringify(only)} in its name; rows: ${Object.keys(ROWS).join('; ')}`)
console.table(results)
process.exit()
