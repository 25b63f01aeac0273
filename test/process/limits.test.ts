// Every row of docs/limits.md: what exceeds a limit is answered as documented while other calls are answered. Not faster: exceeding a
// shipped limit is seconds of work.
import { afterAll, describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { readForwarding } from '../../src/config/providers.ts'
import { JOB_LIMITS, type JobLimits } from '../../src/contract/core/job-limits.ts'
import type { Jobs } from '../../src/workers/jobs.ts'
import { endWorkers, MAX_WAITING_JOBS, runJob, workerCounts } from '../../src/workers/pool.ts'
import { accepted } from '../support/accepted.ts'
import { agentSession, story } from '../support/agents.ts'
import { type Answer, type TestApp, testApps } from '../support/app.ts'
import { bodyOf, CHAT, user } from '../support/chat.ts'
import { docxOf } from '../support/documents.ts'
import { errorOf } from '../support/errors.ts'
import { shortJobs } from '../support/job-limits.ts'
import { emptyFolder } from '../support/server.ts'

const { appWith, close } = testApps()
const folder = emptyFolder()
afterAll(async () => {
  await close()
  endWorkers()
  folder.remove()
})

type Json = Record<string, unknown>

const page = readFileSync(join(import.meta.dir, '..', '..', 'docs', 'limits.md'), 'utf8').split('\n')
const rowNames = page
  .filter((line) => line.startsWith('| '))
  .map((line) => line.split(' | ')[0]?.slice(2) ?? '')
  .filter((name) => name !== 'work')

const numbered = (count: number): Json =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`name-${index}`, 'x']))

/** References that double, which a value is held against 2^40 times; no two of a number are alike. */
function doubling(end: Json = { type: 'string' }, number = 0): Json {
  const $defs: Json = { a40: end }
  for (let level = 0; level < 40; level++) {
    const next = { $ref: `#/$defs/a${level + 1}` }
    $defs[`a${level}`] = { allOf: [next, { ...next, title: `again ${number}` }] }
  }
  return { $defs, type: 'object', properties: { x: { $ref: '#/$defs/a0' } }, required: ['x'] }
}
const format = (schema: Json) =>
  bodyOf({ response_format: { type: 'json_schema', json_schema: { name: 'a', schema } } })
const evaluator = (app: TestApp, more: Json) => app.post('/v2/evaluators', { key: 'judge', path: 'Default', ...more })
const put = (app: TestApp, path: string, body: Json) =>
  app.fetch(path, { method: 'PUT', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) })

/** A datasource of a file, once nothing more happens to it, as if it were an answer. */
async function read(app: TestApp, name: string, content: string | Uint8Array<ArrayBuffer>, chunking_options?: Json) {
  const form = new FormData()
  form.set('file', new File([content], name))
  const { _id: file_id } = (await app.fetch('/v2/files', { method: 'POST', body: form })).json()
  const { _id: base } = (await app.post('/v2/knowledge', { key: 'base' })).json()
  const at = `/v2/knowledge/${base}/datasources`
  const { _id } = (await app.post(at, { file_id, ...(chunking_options && { chunking_options }) })).json()
  for (;;) {
    const answer = await app.fetch(`${at}/${_id}`)
    if (['failed', 'completed'].includes(String(answer.json().status))) return answer
    await app.understudy.sessions.get('default').clock.sleep(10)
  }
}

/** Numbers to call, no two alike: a guardrail takes seconds for them, on the fastest machine too. */
const numbers = Array.from({ length: 80_000 }, (_, index) => `+1555${String(1_000_000 + index)}`).join(' ')

interface Row {
  /** What is beyond the limit. */
  ask(app: TestApp): Promise<Answer>
  /** Status and code of its answer; the status of a document. */
  gets: [number, string]
  /** Bounds of its jobs, where the shipped ones would be reached only after seconds of work. */
  limits?: JobLimits
}
const ROWS: Record<string, Row> = {
  'a value for a schema (`response_format`, tools)': {
    ask: (app) => app.post(CHAT, format(doubling({ not: {} }))),
    gets: [422, 'sample_not_found'],
    limits: shortJobs(100),
  },
  'a schema': {
    ask(app) {
      const properties = Object.fromEntries(
        Array.from({ length: 15_000 }, (_, index) => [`property-${index}`, { anyOf: [{}] }]),
      )
      return app.post(CHAT, format({ type: 'object', properties }))
    },
    gets: [400, 'invalid_schema'],
    limits: shortJobs(50),
  },
  'a text against a schema (evaluators, guardrails)': {
    async ask(app) {
      await evaluator(app, { type: 'json_schema', schema: doubling() })
      return app.post('/v2/evaluators/judge/invoke', { output: '{"x":1}' })
    },
    gets: [422, 'slow_schema'],
    limits: shortJobs(100),
  },
  'templates of a request or an agent': {
    ask: (app) => app.post(CHAT, bodyOf({ ...user('{{ range(9000000) }}'), template_engine: 'jinja' })),
    gets: [400, 'invalid_template'],
  },
  "templates of a fixture's reply": {
    async ask(app) {
      const content = `${'{{#call.messages}}'.repeat(5)}x${'{{/call.messages}}'.repeat(5)}`
      const fixtures = [{ name: 'often', match: { operation: 'chat.completions' }, reply: { content } }]
      await accepted(put(app, '/_understudy/sessions/often', { fixtures }))
      return app.post(`/s/often${CHAT}`, bodyOf({ messages: Array(100).fill({ role: 'user', content: 'Hi' }) }))
    },
    gets: [422, 'reply_too_long'],
  },
  'the prompt of an evaluator': {
    async ask(app) {
      const judge = { type: 'llm_eval', model: 'openai/gpt-4o', output_type: 'boolean' }
      await evaluator(app, { ...judge, prompt: '{{log.output}}'.repeat(5_000) })
      return app.post('/v2/evaluators/judge/invoke', { output: 'x'.repeat(20_000) })
    },
    gets: [422, 'prompt_too_long'],
  },
  'a built-in guardrail': {
    ask(app) {
      const guardrails = [{ id: 'svc_pii_detection', execute_on: 'input' }]
      return app.post(CHAT, bodyOf({ ...user(numbers), guardrails }))
    },
    gets: [422, 'guardrail_stopped'],
    limits: shortJobs(20),
  },
  'reading a document': {
    ask: async (app) => read(app, 'a.docx', await docxOf('<w:p><w:r><w:t>a</w:t></w:r></w:p>'.repeat(100_000))),
    gets: [200, 'failed'],
    limits: shortJobs(50),
  },
  'cutting a document': {
    ask(app) {
      const chunking_configuration = { type: 'advanced', chunk_max_characters: 1 }
      return read(app, 'a.txt', 'a'.repeat(200_000), { chunking_configuration })
    },
    gets: [200, 'failed'],
  },
  'a request': {
    ask: (app) => app.post(CHAT, `${'['.repeat(10_000)}${']'.repeat(10_000)}`),
    gets: [400, 'invalid_json'],
  },
  'the variables of a call': {
    ask: (app) => app.post(CHAT, bodyOf({ variables: numbered(60_000) })),
    gets: [400, 'invalid_value'],
  },
  'new sessions with files (`--sessions-dir`)': {
    async ask() {
      const app = appWith({ sessions_dir: join(folder.path, 'sessions'), clock: 'real' })
      const order: string[] = []
      const noted = async (name: string, asked: Promise<Answer>) => {
        const answer = await asked
        order.push(name)
        return answer
      }
      const all = Array.from({ length: 40 }, (_, index) =>
        index % 2
          ? noted('session', put(app, `/_understudy/sessions/made-${index}`, {}))
          : noted('session', app.post(`/s/called-${index}${CHAT}`, bodyOf({}))),
      )
      const other = noted('other', app.post(CHAT, bodyOf({})))
      const answers = await Promise.all(all)
      await other
      expect(answers.map(({ status }) => status)).toEqual(answers.map((_, index) => (index % 2 ? 201 : 200)))
      // It came last, and waits for few of those that came before it.
      expect(order.indexOf('other')).toBeLessThan(20)
      return app.post(CHAT, '{')
    },
    gets: [400, 'invalid_json'],
  },
  'the patterns of fixtures and scenarios': {
    async ask(app) {
      const match = { operation: 'chat.completions', user: { regex: '^(?:(?<x>a+)+)+\\k<x>!$' } }
      await accepted(put(app, '/_understudy/sessions/slow', { fixtures: [{ match, reply: { content: 'x' } }] }))
      return app.post(`/s/slow${CHAT}`, bodyOf(user('a'.repeat(5_000))))
    },
    gets: [400, 'pattern_limit'],
  },
  'a snapshot being loaded': {
    ask(app) {
      const body = { _id: 'x', deep: JSON.parse(`${'['.repeat(600)}${']'.repeat(600)}`) }
      const row = { seq: 1, kind: 'dataset', id: 'x', workspace: 'x', parent: '', key: null, body }
      return app.post('/_understudy/snapshot', { understudy_snapshot: 1, tables: { records: [row] } })
    },
    gets: [400, 'invalid_json'],
  },
  'a seed in a request': {
    ask: (app) => app.post('/_understudy/seed', { yaml: `contacts:\n${'- { external_id: x }\n'.repeat(30_000)}` }),
    gets: [400, 'invalid_seed'],
  },
  'YAML in a request': {
    ask: (app) =>
      put(app, '/_understudy/scenario', { text: `name: long\nrules:\n${'- { name: x }\n'.repeat(30_000)}` }),
    gets: [400, 'invalid_request_error'],
  },
}
/** Rows whose tests need more than one call. */
const ELSEWHERE = [
  "a provider's response",
  "the arguments of an agent's tool",
  'a document that ends the process', // test/process/heavy-documents.test.ts
  'tokens, vectors, pictures and speech', // test/process/heavy-calls.test.ts: no input is beyond their limit
  'waiting for a worker',
]

test('docs/limits.md: has a test for every row', () => {
  expect([...Object.keys(ROWS), ...ELSEWHERE].sort()).toEqual(rowNames.toSorted())
})

/** The jobs behind the rows that a time ends. */
const TIMED: Record<string, keyof Jobs> = {
  'a value for a schema (`response_format`, tools)': 'sample',
  'a schema': 'checkSchema',
  'a text against a schema (evaluators, guardrails)': 'checkText',
  'templates of a request or an agent': 'renderTemplates',
  'a built-in guardrail': 'checkTexts',
  'reading a document': 'chunkDocument',
}
test.each(Object.entries(TIMED))('docs/limits.md: states the shipped time of %s', (name, job) => {
  const [line = ''] = page.filter((one) => one.startsWith(`| ${name} |`))
  expect([name, line.match(/\b(\d+) s\b/)?.[1]]).toEqual([name, String(JOB_LIMITS[job].ms / 1000)])
})

const codeOf = (answer: Answer): string =>
  answer.status === 200 ? String(answer.json().status) : errorOf(answer.text, answer.status).code

test('body: has a maximum number of values on every route', async () => {
  const app = appWith()
  const beyond = async (path: string, values: number) => {
    const answer = await app.post(path, {
      external_id: 'x',
      model: 'openai/gpt-4o',
      metadata: { list: Array(values).fill(1) },
    })
    return [answer.status, errorOf(answer.text, answer.status).message]
  }
  expect(await beyond(CHAT, 400_000)).toEqual([400, 'the body has more than 400000 values'])
  expect(await beyond('/v2/contacts', 300_000)).toEqual([400, 'the body has more than 100000 values'])
  const deep = await app.post(CHAT, '['.repeat(1_000_000))
  expect(errorOf(deep.text, deep.status).message).toBe('the body is nested more than 500 levels deep')
})

test.each([
  ['variables', numbered],
  ['svc.inputs', numbered],
  ['svc.inputs', (count: number) => Object.keys(numbered(count)).map((key) => ({ key, value: 'x' }))],
])('variables: are limited to 10,000 in %s', async (param, made) => {
  const app = appWith()
  const ask = async (count: number) =>
    app.post(CHAT, bodyOf(param === 'variables' ? { variables: made(count) } : { svc: { inputs: made(count) } }))
  expect((await ask(10_000)).status).toBe(200)
  const beyond = await ask(10_001)
  expect(errorOf(beyond.text, beyond.status)).toMatchObject({
    code: 'invalid_value',
    param,
    message: `'${param}' must have at most 10000 variables, got 10001`,
  })
})

test('provider response of many values: is read without blocking others, and rejected when too long', async () => {
  let answered: (response: Response) => void = () => {}
  const provider = Bun.serve({ port: 0, fetch: () => new Promise<Response>((resolve) => (answered = resolve)) })
  try {
    const section = {
      value: { upstream: { base_url: `${provider.url.href}v1`, backend: 'forward' } },
      locationOf: () => '',
    }
    const forwarding = readForwarding({ section, backend: 'fixture', environment: {} })
    const app = appWith({ clock: 'real', forwarding, max_response: 1_000_000 })
    const respond = async (body: string) => {
      const asked = app.post(CHAT, bodyOf({ model: 'upstream/x' }))
      while (provider.pendingRequests === 0) await new Promise((resolve) => setImmediate(resolve))
      answered(new Response(body, { headers: { 'content-type': 'application/json' } }))
      expect((await app.post(CHAT, bodyOf({}))).status).toBe(200)
      return asked
    }
    const choice = { index: 0, message: { role: 'assistant', content: 'Hi', refusal: null }, finish_reason: 'stop' }
    const completion = { id: 'c', object: 'chat.completion', created: 1, model: 'x', choices: [choice] }
    const large = JSON.stringify({ ...completion, extra: Array(60_000).fill({ a: 1 }) })
    expect((await respond(large)).status).toBe(200)
    expect((await respond(large.slice(0, -1))).text).toContain('not valid JSON')
    const tooLong = await respond(large.padEnd(1_000_001))
    expect([tooLong.status, tooLong.text]).toEqual([502, expect.stringContaining('--max-response')])
  } finally {
    provider.stop(true)
  }
}, 60_000)

describe('limit', () => {
  test.each(Object.entries(ROWS))(
    'is enforced without blocking other calls: %s',
    async (_, { ask, gets, limits }) => {
      const app = appWith({}, { jobLimits: limits })
      const asked = ask(app)
      expect((await app.post(CHAT, bodyOf({}))).status).toBe(200)
      const answer = await asked
      expect([answer.status, codeOf(answer)]).toEqual(gets)
    },
    60_000,
  )

  test("is enforced for the arguments of an agent's tool", async () => {
    const session = agentSession(appWith({}, { jobLimits: shortJobs(100) }))
    await session.begin([[{ name: 'place', arguments: { x: 1 } }], 'Done.'])
    const json_schema = { name: 'place', description: 'A place.', schema: doubling() }
    await session.ok('POST', '/v2/tools', { key: 'form', type: 'json_schema', json_schema, path: 'Default' })
    await session.agent({ settings: { tools: [{ type: 'json_schema', key: 'form' }] } })
    expect(story(await session.ask('Go.'))).toEqual([
      'user: Go.',
      'agent: place({"x":1})',
      'tool: {"x":1}',
      'agent: Done.',
    ])
  }, 60_000)

  test('is enforced while waiting for a worker', async () => {
    const app = appWith()
    const gone = new AbortController()
    const { refused } = workerCounts()
    const answers: Response[] = []
    const send = async (body: unknown) => {
      const request = new Request(`http://localhost${CHAT}`, {
        method: 'POST',
        headers: { authorization: 'Bearer any', 'content-type': 'application/json' },
        body: JSON.stringify(body),
        signal: gone.signal,
      })
      answers.push(await app.understudy.app.fetch(request))
    }
    // These keep the workers; each of the others is a small job for one.
    const guardrails = [{ id: 'svc_pii_detection', execute_on: 'input' }]
    const long = Array.from({ length: 3 }, (_, index) => send(bodyOf({ ...user(`${index} ${numbers}`), guardrails })))
    while (workerCounts().jobs < long.length) await new Promise((resolve) => setImmediate(resolve))
    // Nearly as many as may wait.
    const text = { schema: '{}', text: '1' }
    const waiting = Promise.allSettled(
      Array.from({ length: MAX_WAITING_JOBS - 10 }, () => runJob('checkText', text, gone)),
    )
    const flood = Array.from({ length: 20 }, (_, index) =>
      send(format({ type: 'object', properties: { x: { type: 'string', pattern: `^a{${index}}$` } } })),
    )
    while (workerCounts().refused === refused) await new Promise((resolve) => setImmediate(resolve))
    expect((await app.post(CHAT, bodyOf({}))).status).toBe(200)
    gone.abort()
    await Promise.all([...long, ...flood])
    await waiting
    const [first] = answers.filter(({ status }) => status === 429)
    expect(first?.headers.get('retry-after')).toBe('5')
    expect(errorOf((await first?.text()) ?? '', 429).code).toBe('too_much_work')
    expect(answers.filter(({ status }) => status >= 500)).toEqual([])
    // Nobody waits for the rest.
    while (workerCounts().jobs > 0) await new Promise((resolve) => setImmediate(resolve))
  }, 60_000)
})
