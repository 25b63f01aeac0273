// Every example of a request in the document works on a new server, as it is there, and before anything else was called.
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { createTestApp } from './support/app.ts'
import { formWith } from './support/example-calls.ts'
import type { Json } from './support/workspace.ts'

interface Operation {
  requestBody?: { content: Record<string, { examples?: Record<string, { value: Json }> }> }
}
interface Example {
  method: string
  path: string
  name: string
  value: Json
  form: boolean
}

const app = createTestApp()
afterAll(app.close)
const paths = new Map<string, Record<string, Operation>>()
const examplesOf = (method: string, path: string): Example[] =>
  Object.entries(paths.get(path)?.[method]?.requestBody?.content ?? {}).flatMap(([type, { examples = {} }]) =>
    Object.entries(examples).map(([name, { value }]) => ({
      method,
      path,
      name,
      value,
      form: type === 'multipart/form-data',
    })),
  )

beforeAll(async () => {
  const document = (await app.fetch('/swagger/json')).json()
  for (const entry of Object.entries(document.paths as Record<string, Record<string, Operation>>)) paths.set(...entry)
})

/** Sends an example in a session, with the parameters of its path filled in. */
async function sendExample(session: string, { method, path, value, form }: Example) {
  const body = form ? await formWith(value) : JSON.stringify(value)
  const type: Record<string, string> = form ? {} : { 'content-type': 'application/json' }
  // A session that is put gets the name of the path; every other path is about what is there.
  const at = method === 'put' && path.endsWith('/{name}') ? path.replace('{name}', `put-${session}`) : path
  return app.fetch(await filled(session, at), {
    method: method.toUpperCase(),
    headers: { ...type, 'x-understudy-session': session },
    body,
  })
}

/** What is decided about: a task that waits, which no list has on a new server. */
async function waitingTask(session: string): Promise<string> {
  const inSession = { 'x-understudy-session': session }
  const call = { tool_calls: [{ name: 'current_date', arguments: {} }] }
  const fixture = { name: 'wait', match: { operation: 'chat.completions', tools: ['current_date'] }, reply: call }
  const headers = { ...inSession, 'content-type': 'application/json' }
  await app.fetch('/_understudy/fixtures', { method: 'PUT', headers, body: JSON.stringify(fixture) })
  const [run] = examplesOf('post', '/v2/agents/run')
  const { settings, ...agent } = run?.value ?? {}
  const waiting = { ...agent, settings: { ...(settings as Json), tool_approval_required: 'all' } }
  const submitted = await app.post('/v2/agents/run', { ...waiting, configuration: { blocking: true } }, inSession)
  return String(submitted.json().id)
}

/** A path whose parameters name the first record that there is; where there is none yet, the first example makes it. */
async function filled(session: string, path: string): Promise<string> {
  let at = ''
  let described = ''
  for (const part of path.split('/').slice(1)) {
    const list = { path: at, described }
    described += `/${part}`
    at += `/${part.startsWith('{') ? await idOf(session, part, list) : part}`
  }
  return at
}

async function idOf(session: string, part: string, list: { path: string; described: string }): Promise<string> {
  const headers = { 'x-understudy-session': session }
  if (list.described === '/_understudy/tasks') return waitingTask(session)
  const at = { '/a2a': '/v2/agents', '/_understudy/evaluators': '/v2/evaluators' }[list.described] ?? list.path
  const first = async () => {
    const page = (await app.fetch(at, { headers })).json() as unknown as Json[] | { data: Json[] }
    return (Array.isArray(page) ? page : page.data)[0]
  }
  const found = await first()
  if (found) return String(found[keyOf(part)])
  const described = list.described === '/a2a' ? '/v2/agents' : list.described
  const [example] = examplesOf('post', described)
  if (!example) throw new Error(`nothing makes what ${list.described}/${part} is about`)
  const made = await sendExample(session, example)
  if (made.status >= 300) throw new Error(`${described}: ${made.text}`)
  return String((await first())?.[keyOf(part)])
}
const keyOf = (part: string) =>
  ({ '{memory_store_key}': 'key', '{entity_id}': 'entity_id', '{key}': 'key', '{name}': 'name' })[part] ?? '_id'

test('every example of a request works on a new server', async () => {
  const methods = [...paths].flatMap(([path, operations]) =>
    Object.keys(operations).map((method) => ({ method, path })),
  )
  const examples = methods.flatMap(({ method, path }) => examplesOf(method, path))
  expect(examples.length).toBeGreaterThan(80)
  const failed: string[] = []
  for (const [index, example] of examples.entries()) {
    const answer = await sendExample(`new-${index}`, example)
    const { method, path, name } = example
    if (answer.status >= 300) failed.push(`${method} ${path} ${name}: ${answer.status} ${answer.text.slice(0, 200)}`)
  }
  expect(failed).toEqual([])
}, 120_000)
