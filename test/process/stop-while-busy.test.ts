// Every type of work that can take long: SIGTERM ends the server while it runs, and no client waits forever.
// Not faster: a process is stopped for each group of work that can be under way at once.
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { bodyOf, CHAT, user } from '../support/chat.ts'
import { docxOf } from '../support/documents.ts'
import { errorOf } from '../support/errors.ts'
import { KEY } from '../support/forward.ts'
import { emptyFolder, type OwnServer, startServer } from '../support/server.ts'

type Json = Record<string, unknown>
const folder = emptyFolder()
const cwd = folder.path
/** A provider whose response never ends. */
const provider = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  idleTimeout: 0,
  fetch: () => new Response(new ReadableStream({ pull: (to) => to.enqueue(new Uint8Array(65_536).fill(32)) })),
})
writeFileSync(
  join(cwd, 'understudy.yaml'),
  `providers:\n  upstream: { base_url: "${provider.url}v1", api_key: ${KEY}, backend: forward }\n`,
)
afterAll(async () => {
  await provider.stop(true)
  folder.remove()
})

/** Calls that `--drain-timeout` cuts off, and how much later than that the process may end: a turn of the main thread, and its last answers. */
const [DRAIN_MS, LATER_MS] = [30, 4_900]

/** The runtime's settings, as those of this process (src/build/test.ts): work that is ended midway gains nothing by optimized code. */
const env = Object.fromEntries(
  Object.entries(process.env).flatMap(([name, value]) =>
    value && /^(?:BUN_JSC|BUN_GC|MIMALLOC)_/.test(name) ? [[name, value]] : [],
  ),
)

const headers = { authorization: 'Bearer any', 'content-type': 'application/json' }
type Send = (path: string, body: unknown, method?: string) => Promise<Response>
const sender =
  (url: string): Send =>
  (path, body, method = 'POST') =>
    fetch(`${url}${path}`, {
      method,
      ...(body instanceof FormData
        ? { headers: { authorization: headers.authorization }, body }
        : { headers, body: typeof body === 'string' ? body : JSON.stringify(body) }),
    })

/** References that double, which a value is held against 2^40 times; no two of a number are alike. */
function doubling(end: Json, number: number): Json {
  const $defs: Json = { a40: end }
  for (let level = 0; level < 40; level++) {
    const next = { $ref: `#/$defs/a${level + 1}` }
    $defs[`a${level}`] = { allOf: [next, { ...next, title: `again ${number}` }] }
  }
  return { $defs, type: 'object', properties: { x: { $ref: '#/$defs/a0' } }, required: ['x'] }
}
const format = (schema: Json) =>
  bodyOf({ response_format: { type: 'json_schema', json_schema: { name: 'a', schema } } })
const inList = (count: number, one: (index: number) => unknown) =>
  Array.from({ length: count }, (_, index) => one(index))
const evaluator = async (send: Send, more: Json) => {
  const made = await send('/v2/evaluators', { key: 'judge', path: 'Default', ...more })
  expect([await made.text(), made.ok]).toEqual([expect.any(String), true])
}
const fixtures = async (send: Send, session: string, match: Json, content: string) => {
  const body = { fixtures: [{ match: { operation: 'chat.completions', ...match }, reply: { content } }] }
  expect((await send(`/_understudy/sessions/${session}`, body, 'PUT')).ok).toBe(true)
}
const numbers = inList(80_000, (index) => `+1555${String(1_000_000 + Number(index))}`).join(' ')
let document: Uint8Array<ArrayBuffer>
beforeAll(async () => {
  document = await docxOf('<w:p><w:r><w:t>a</w:t></w:r></w:p>'.repeat(100_000))
})

interface Row {
  /** What is there before; also what it gives the calls. */
  before?(send: Send): Promise<unknown>
  /** One call of this work; no two of a number are alike. */
  call(send: Send, number: number): Promise<Response>
  /** Where the work is done: a worker has a job then, or a first call has been answered and others like it are under way. */
  in: 'worker' | 'main' | 'provider'
  /** How many jobs there are then; 1 when left out. */
  jobs?: number
}
const ENDLESS = "a provider's response without an end"
const ROWS: Record<string, Row> = {
  // As many as keep all workers that such jobs may have.
  'a value for a schema': { in: 'worker', jobs: 3, call: (send, n) => send(CHAT, format(doubling({ not: {} }, n))) },
  'a schema of many keywords': {
    in: 'worker',
    call(send, n) {
      const keywords = inList(15_000, (index) => [`property-${n}-${index}`, { anyOf: [{}] }]) as [string, Json][]
      return send(CHAT, format({ type: 'object', properties: Object.fromEntries(keywords) }))
    },
  },
  'a text against a schema of an evaluator': {
    in: 'worker',
    before: (send) => evaluator(send, { type: 'json_schema', schema: doubling({ type: 'string' }, 0) }),
    call: (send, n) => send('/v2/evaluators/judge/invoke', { output: JSON.stringify({ x: String(n) }) }),
  },
  // Of 2 million characters: several of nearly 20 million at a time hold up the main thread for seconds.
  'the prompt of an evaluator': {
    in: 'worker',
    before: (send) =>
      evaluator(send, {
        ...{ type: 'llm_eval', model: 'openai/gpt-4o', output_type: 'boolean' },
        prompt: '{{log.output}}'.repeat(100),
      }),
    call: (send) => send('/v2/evaluators/judge/invoke', { output: 'x'.repeat(20_000) }),
  },
  'a built-in guardrail': {
    in: 'worker',
    call: (send, n) =>
      send(
        CHAT,
        bodyOf({ ...user(`${n} ${numbers}`), guardrails: [{ id: 'svc_pii_detection', execute_on: 'input' }] }),
      ),
  },
  'a template': {
    in: 'worker',
    call: (send, n) =>
      send(
        CHAT,
        bodyOf({
          ...user(
            `${'x'.repeat(60_000)}{% for i in range(9) %}{% for j in range(90000) %}{{ j * ${n} }}{% endfor %}{% endfor %}`,
          ),
          template_engine: 'jinja',
        }),
      ),
  },
  'a small template': {
    in: 'main',
    call: (send) => send(CHAT, bodyOf({ ...user('{{ range(9000000) }}'), template_engine: 'jinja' })),
  },
  "the template of a fixture's reply": {
    in: 'main',
    before: (send) =>
      fixtures(send, 'often', {}, `${'{{#call.messages}}'.repeat(5)}x${'{{/call.messages}}'.repeat(5)}`),
    call: (send) => send(`/s/often${CHAT}`, bodyOf({ messages: inList(100, () => ({ role: 'user', content: 'Hi' })) })),
  },
  'a pattern': {
    in: 'main',
    before: (send) => fixtures(send, 'slow', { user: { regex: '^(?:(?<x>a+)+)+\\k<x>!$' } }, 'x'),
    call: (send) => send(`/s/slow${CHAT}`, bodyOf(user('a'.repeat(5_000)))),
  },
  'reading a document': {
    in: 'worker',
    async call(send, n) {
      const form = new FormData()
      form.set('file', new File([document], `${n}.docx`))
      const { _id: file_id } = (await (await send('/v2/files', form)).json()) as Json
      const { _id: base } = (await (await send('/v2/knowledge', { key: `base-${n}` })).json()) as Json
      return send(`/v2/knowledge/${base}/datasources`, { file_id })
    },
  },
  'YAML in a request': {
    in: 'main',
    call: (send) =>
      send('/_understudy/scenario', { text: `name: long\nrules:\n${'- { name: x }\n'.repeat(4_000)}` }, 'PUT'),
  },
  'a seed': {
    in: 'main',
    call: (send, n) =>
      send('/_understudy/seed', {
        yaml: `contacts:\n${inList(300, (at) => `- { external_id: x${n}-${at} }\n`).join('')}`,
      }),
  },
  'a large body': {
    in: 'main',
    call: (send) => send(CHAT, bodyOf({ metadata: { list: inList(45_000, (index) => index) } })),
  },
  'a list of tokens to embed': {
    in: 'main',
    call: (send) =>
      send('/v2/router/embeddings', {
        model: 'openai/text-embedding-3-small',
        input: inList(5, () => inList(1_000, (index) => index)),
      }),
  },
  'a picture': {
    in: 'main',
    call: (send, n) =>
      send('/v2/router/images/generations', { model: 'openai/gpt-image-1', prompt: `a cat ${n}`, size: '1024x1024' }),
  },
  'many records of one request': {
    in: 'main',
    before: async (send) =>
      ((await (await send('/v2/datasets', { display_name: 'd', path: 'Default' })).json()) as Json)._id,
    async call(send, n) {
      const { _id } = (await (await send('/v2/datasets', { display_name: `d${n}`, path: 'Default' })).json()) as Json
      return send(
        `/v2/datasets/${_id}/datapoints`,
        inList(600, () => ({ inputs: { a: 'b' } })),
      )
    },
  },
  'a snapshot being loaded': {
    in: 'main',
    call: (send) =>
      send('/s/loaded/_understudy/snapshot', {
        understudy_snapshot: 1,
        tables: { kept: inList(2_000, (index) => ({ kind: 'a', id: `b${index}`, value: { text: 'c' } })) },
      }),
  },
  'new sessions with files': {
    in: 'main',
    call: (send, n) => send(`/_understudy/sessions/made-${n}`, {}, 'PUT'),
  },
  [ENDLESS]: {
    in: 'provider',
    call: (send) => send(CHAT, bodyOf({ model: 'upstream/x' })),
  },
}

/** Calls of a row that are under way at a time. */
const CALLS = 2
/** Between two looks at a server: one after the other would take half of the processor from it. */
const POLL_MS = 10

/** What is under way in one server. Two jobs run at a time, and the others wait. */
const GROUPS: (keyof typeof ROWS)[][] = [
  ['a value for a schema'],
  ['a schema of many keywords', 'reading a document'],
  ['a text against a schema of an evaluator', 'a built-in guardrail'],
  ['the prompt of an evaluator', 'a template'],
  [
    ...['a small template', "the template of a fixture's reply", 'a pattern', 'YAML in a request', 'a large body'],
    ...['a list of tokens to embed', 'a picture'],
  ],
  [...['a seed', 'many records of one request', 'a snapshot being loaded', 'new sessions with files'], ENDLESS],
]

/** How a call ended: with its whole answer, or with its connection. */
const ended = async (asked: Promise<Response>): Promise<{ status: number; text: string } | 'closed'> => {
  try {
    const response = await asked
    return { status: response.status, text: await response.text() }
  } catch {
    return 'closed'
  }
}

/** Resolves when workers have so many jobs. */
async function haveJobs({ url }: OwnServer, jobs: number): Promise<void> {
  for (;;) {
    const { workers } = (await (await fetch(`${url}/_understudy/health`)).json()) as { workers: { jobs: number } }
    if (workers.jobs >= jobs) return
    await Bun.sleep(POLL_MS)
  }
}

describe('SIGTERM', () => {
  test('is tried with every type of work', () => {
    expect(GROUPS.flat().sort()).toEqual(Object.keys(ROWS).sort())
  })

  test.each(GROUPS.map((names, index) => [names.join(', '), index, names] as const))(
    'ends the server while it is busy with %s',
    async (_, index, names) => {
      const args = ['--db', join(cwd, `${index}.db`), '--sessions-dir', join(cwd, `sessions-${index}`)]
      const line = [...args, '--drain-timeout', `${DRAIN_MS}ms`, '--max-response', '1GiB']
      const server = await startServer(line, { cwd, env })
      const send = sender(server.url)
      const rows = names.flatMap((name) => ROWS[name] ?? [])
      const ends: Awaited<ReturnType<typeof ended>>[] = []
      const { promise: anotherEnded, resolve } = Promise.withResolvers<void>()
      for (const row of rows) await row.before?.(send)
      // Each of these has been answered once when the others are sent, which are under way when one of them is answered.
      const inMain = rows.filter((row) => row.in === 'main')
      await Promise.all(inMain.map(async (row) => ends.push(await ended(row.call(send, 0)))))
      const loops = rows.flatMap((row) => {
        const calls = row.in === 'worker' ? (row.jobs ?? 1) : CALLS
        return inList(calls, async (loop) => {
          // One after the other, so that some are under way whenever the signal comes.
          for (let number = Number(loop); ; number += calls) {
            const end = await ended(row.call(send, number + 1))
            ends.push(end)
            resolve()
            if (end === 'closed' || (end.status === 503 && end.text.includes('draining'))) return
          }
        })
      })
      if (inMain.length > 0) await anotherEnded
      while (names.includes(ENDLESS) && provider.pendingRequests < CALLS)
        await new Promise((resolve) => setImmediate(resolve))
      const jobs = rows.reduce((sum, row) => sum + (row.in === 'worker' ? (row.jobs ?? 1) : 0), 0)
      if (jobs > 0) {
        await haveJobs(server, jobs)
        // Whatever workers do, others are answered.
        expect((await send(CHAT, bodyOf({}))).status).toBe(200)
      }
      const began = performance.now()
      expect(await server.stop('SIGTERM')).toBe(0)
      const took = performance.now() - began
      await Promise.all(loops)
      expect(took).toBeLessThan(DRAIN_MS + LATER_MS)
      expect(await server.stderr).not.toContain('internal_error')
      for (const end of ends) {
        if (end === 'closed' || end.status < 400) continue
        // A whole answer, and none that says that something else is wrong.
        expect(errorOf(end.text, end.status).code).not.toBe('internal_error')
      }
    },
    60_000,
  )
})
