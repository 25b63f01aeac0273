// A text with a lone surrogate is rejected at every way in, and stored data can always be saved.

import { Database } from 'bun:sqlite'
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { createTestApp, testApps } from '../support/app.ts'
import { runCommand } from '../support/cli.ts'
import { openApiDocument } from '../support/document.ts'
import { errorOf } from '../support/errors.ts'
import { type CallableOperation, playExamples } from '../support/example-calls.ts'
import { folderWith } from '../support/fixtures.ts'
import { emptyFolder } from '../support/server.ts'
import { formOf } from '../support/translations.ts'

type Json = Record<string, unknown>
const { appWith, close } = testApps()
const app = appWith()
afterAll(close)

interface Described {
  operationId: string
  requestBody?: { content: Record<string, { schema: Json; examples?: Record<string, { value: Json }> }> }
}
interface Document {
  paths: Record<string, Record<string, Described>>
}
/** A body of each route that takes JSON; the document is made from the registries. */
const bodies: { method: string; path: string; body: Json }[] = []
/** For routes whose description has no example. */
const EXAMPLES: Record<string, Json> = {
  'post /_understudy/sessions': {
    name: 'a',
    fixtures: [{ name: 'f', match: { operation: 'chat.completions' }, reply: { content: 'x' } }],
  },
  'put /_understudy/fixtures': { name: 'f', match: { operation: 'chat.completions' }, reply: { content: 'x' } },
  'post /_understudy/sessions/{name}/clock': { advance: '1s' },
  'put /_understudy/scenario': { name: 'mine', rules: [{ name: 'r', fault: { type: 'hang' } }] },
  'post /_understudy/snapshot': {
    understudy_snapshot: 1,
    tables: { kept: [{ kind: 'a', id: 'b', value: { text: 'c' } }] },
  },
  'post /_understudy/seed': { name: 'seed', yaml: 'contacts: []', documents: { 'a.md': 'YQ==' } },
}
/** A path of each operation that names records which there are: an unknown one is 404, whatever the body. */
async function pathsOfRecords({ paths }: Document): Promise<Map<string, string>> {
  const operations = new Map<string, CallableOperation>()
  for (const [path, methods] of Object.entries(paths))
    for (const [method, { operationId, requestBody }] of Object.entries(methods)) {
      const [[type, content] = []] = Object.entries(requestBody?.content ?? {})
      const [example] = Object.values(content?.examples ?? {})
      const body = example && { value: example.value, form: type === 'multipart/form-data' }
      operations.set(operationId, { method, path, body })
    }
  const found = new Map<string, string>()
  const removes = (id: string) => /^(delete|clear|cancel|reset)/.test(id)
  const ids: Record<string, string> = {}
  for await (const { id, path } of playExamples(app, operations, removes)) {
    found.set(id, path)
    const parts = path.split('/')
    operations
      .get(id)
      ?.path.split('/')
      .forEach((part, index) => {
        if (part.startsWith('{')) ids[part] = parts[index] ?? ''
      })
  }
  for (const [id, { path }] of operations)
    if (!found.has(id))
      found.set(
        id,
        path.replace(/\{\w+\}/g, (name) => ids[name] ?? 'default'),
      )
  return found
}

beforeAll(async () => {
  const document = await openApiDocument<Document>()
  const paths = await pathsOfRecords(document)
  for (const [path, methods] of Object.entries(document.paths)) {
    // What is wrong in a call of A2A is said in JSON-RPC, which agents-a2a-errors.test.ts holds it to.
    if (path.startsWith('/a2a/')) continue
    for (const [method, { operationId, requestBody }] of Object.entries(methods)) {
      const described = requestBody?.content['application/json']
      if (!described) continue
      const examples = Object.values(described.examples ?? {}).map(({ value }) => value)
      const body = examples[0] ?? EXAMPLES[`${method} ${path}`]
      if (!body) throw new Error(`${method} ${path} has no example: give it one in this file`)
      bodies.push({
        method: method.toUpperCase(),
        path: paths.get(operationId) ?? path,
        body,
      })
    }
  }
})

/** Every place of a text in a value, keys included. */
function* textsIn(value: unknown, path: (string | number)[] = []): Generator<(string | number)[]> {
  if (typeof value === 'string') yield path
  else if (typeof value === 'object' && value !== null)
    for (const [key, inner] of Object.entries(value))
      yield* textsIn(inner, [...path, Array.isArray(value) ? Number(key) : key])
}
const planted = (value: unknown, [step, ...rest]: (string | number)[], text: string): unknown => {
  if (step === undefined) return text
  const copy = structuredClone(value) as Record<string | number, unknown>
  copy[step] = planted(copy[step], rest, text)
  return copy
}
const named = (path: (string | number)[]) =>
  path.reduce<string>(
    (text, step) => (typeof step === 'number' ? `${text}[${step}]` : text ? `${text}.${step}` : step),
    '',
  )

/** The error of a door, which is in the shape of its own API; where that has no field for the place, the message names it. */
function doorError(text: string): { message: string; param: string } {
  const { message, param } = JSON.parse(text).error
  return { message, param: param ?? /^'([^']+)'/.exec(message)?.[1] }
}

test("lone surrogate: is rejected at its place in every text of every route's body", async () => {
  expect(bodies.length).toBeGreaterThan(25)
  let tried = 0
  for (const { method, path, body } of bodies) {
    for (const place of textsIn(body)) {
      for (const text of ['\ud800', 'half of 😀: \ude00', `${'x'.repeat(200)}\udbff`]) {
        const answer = await app.fetch(path, {
          method,
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify(planted(body, place, text)),
        })
        const said = `${method} ${path} ${named(place)}`
        expect([said, answer.status]).toEqual([said, 400])
        const error = path.startsWith('/v1/') ? doorError(answer.text) : errorOf(answer.text, 400)
        expect([said, error.param]).toEqual([said, named(place)])
        expect(error.message).toContain('surrogate')
        expect(answer.text.isWellFormed() && !/\\ud[89a-f]/i.test(answer.text)).toBe(true)
        tried++
      }
    }
  }
  expect(tried).toBeGreaterThan(200)
  expect((await app.fetch('/_understudy/snapshot')).status).toBe(200)
})

test('lone surrogate: is rejected in a key', async () => {
  const answer = await app.post('/v2/datasets', { display_name: 'a', metadata: { 'b\ud800': 1 } })
  expect(errorOf(answer.text, 400).message).toContain('surrogate')
})

const WHOLE: [string, string][] = [
  ['an escaped pair', String.raw`{"external_id":"whole","display_name":"\ud83d\ude00"}`],
  ['the character itself', '{"external_id":"whole","display_name":"😀"}'],
  ['an escaped backslash', String.raw`{"external_id":"whole","display_name":"\\ud83d"}`],
]
test.each(WHOLE)('surrogate check: accepts %s', async (_, body) => {
  const answer = await app.post('/v2/contacts', body)
  expect([answer.status, answer.json().display_name]).toEqual([200, JSON.parse(body).display_name])
})

describe('lone surrogate in a form', () => {
  test('is rejected in a JSON field', async () => {
    const file = new File(['a'], 'a.txt')
    const answer = await app.fetch('/v2/router/audio/translations', {
      method: 'POST',
      body: formOf({ file, model: 'openai/whisper-1', metadata: { place: '\ud800' } as never }),
    })
    expect(answer.status).toBe(422)
    expect(errorOf(answer.text, 422).message).toContain('surrogate')
  })
})

describe('lone surrogate in a file', () => {
  const folder = folderWith({
    'fixtures/chat.completions/half.yaml': String.raw`match: { user: "x" }
reply: { content: "\ud800" }`,
    'scenario.yaml': String.raw`name: half
rules: [{ name: "\udc00", fault: { type: hang } }]`,
    'seed.yaml': String.raw`contacts: [{ external_id: a, display_name: "\ud83d" }]`,
    'whole.yaml': String.raw`contacts: [{ external_id: a, display_name: "\ud83d\ude00" }]`,
  })
  afterAll(folder.remove)

  test.each(['fixtures', 'scenario.yaml'])('is reported by check in %s, with file and line', async (name) => {
    const { code, stdout, stderr } = await runCommand(['check', join(folder.path, name)])
    expect(code).not.toBe(0)
    expect(`${stdout}${stderr}`).toMatch(/\.yaml:2:\d+: .*surrogate/)
  })

  test('prevents the start when it is in a seed file', () => {
    const open = () => createTestApp({ seed_file: [join(folder.path, 'seed.yaml')] })
    expect(open).toThrow(/seed\.yaml:1:\d+: .*surrogate/)
    expect(() => appWith({ seed_file: [join(folder.path, 'whole.yaml')] })).not.toThrow()
  })

  test('is rejected when it is seeded into a running session', async () => {
    const answer = await app.post('/_understudy/seed', { yaml: String.raw`contacts: [{ external_id: "\ud800" }]` })
    expect(errorOf(answer.text, 400).message).toMatch(/seed:1:\d+: .*surrogate/)
  })
})

describe('lone surrogate as bytes', () => {
  const bytes = Buffer.from([0xed, 0xa0, 0x80])
  test('is replaced in a body', async () => {
    const body = Buffer.concat([Buffer.from('{"external_id":"bytes","display_name":"'), bytes, Buffer.from('"}')])
    const answer = await app.fetch('/v2/contacts', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
    })
    expect(String(answer.json().display_name).isWellFormed()).toBe(true)
  })

  test.each([
    '/_understudy/traces?session=%ED%A0%80',
    '/v2/datasets/%ED%A0%80',
    '/v2/tools/%ED%A0%80',
    '/_understudy/sessions/%ED%A0%80',
    '/s/%ED%A0%80/v2/tools',
    '/files/%ED%A0%80',
    '/%ED%A0%80',
  ])('is rejected or replaced in the path %s', async (path) => {
    const { status, text } = await app.fetch(path)
    expect(status).toBeGreaterThanOrEqual(400)
    expect(status).toBeLessThan(500)
    expect(text.isWellFormed()).toBe(true)
  })
})

describe('stored text', () => {
  test('is cut between characters in an error that quotes it', async () => {
    const mine = appWith()
    for (const before of ['', 'a']) {
      const body = { model: 'openai/gpt-4o', messages: [], temperature: `${before}${'😀'.repeat(100)}` }
      const { message } = errorOf((await mine.post('/v2/router/chat/completions', body)).text, 400)
      expect(message.isWellFormed()).toBe(true)
    }
    expect((await mine.fetch('/_understudy/snapshot')).status).toBe(200)
  })

  test('is cut between characters in a document', async () => {
    const mine = appWith({ clock: 'virtual' })
    const file = new File([`a${'😀'.repeat(3_000)}`], 'faces.txt')
    const uploaded = await mine.fetch('/v2/files', { method: 'POST', body: formOf({ file, purpose: 'retrieval' }) })
    const base = await mine.post('/v2/knowledge', { key: 'faces', display_name: 'Faces', path: 'Default' })
    const at = `/v2/knowledge/${base.json()._id}/datasources`
    const { _id } = (await mine.post(at, { file_id: uploaded.json()._id })).json()
    let chunks: { text: string }[] = []
    // A worker cuts it, in real time; the limit of the test is that of the wait.
    while (chunks.length === 0) {
      // Virtual time passes only while nobody asks.
      for (let idle = 0; idle < 10; idle++) await new Promise((resolve) => setImmediate(resolve))
      chunks = (await mine.fetch(`${at}/${_id}/chunks?limit=50`)).json().data as { text: string }[]
    }
    expect(chunks.length).toBeGreaterThan(1)
    for (const { text } of chunks) expect(text.isWellFormed()).toBe(true)
    expect((await mine.fetch('/_understudy/snapshot')).status).toBe(200)
  })

  test('of an earlier version can be saved in a snapshot and loaded', async () => {
    const folder = emptyFolder()
    const db = join(folder.path, 'old.db')
    const before = createTestApp({ db })
    await before.post('/v2/contacts', { external_id: 'old', display_name: 'PLANTED' })
    before.close()
    const database = new Database(db)
    database.run(`UPDATE records SET body = replace(body, 'PLANTED', '\\ud800')`)
    database.close()
    const after = createTestApp({ db })
    const saved = await after.fetch('/_understudy/snapshot')
    expect(saved.status).toBe(200)
    expect(saved.text).toContain('\ufffd')
    expect((await after.post('/_understudy/snapshot', saved.text)).status).toBe(200)
    expect((await after.fetch('/_understudy/snapshot')).text).toBe(saved.text)
    after.close()
    folder.remove()
  })
})
