// Calls to a server as it is when it starts: the parameters of paths name what its seed made.
import type { TestApp } from './app.ts'
import { openApiDocument } from './document.ts'
import { formWith } from './example-calls.ts'
import type { Json } from './workspace.ts'

interface DescribedOperation {
  requestBody?: { content: Record<string, { examples?: Record<string, { value: Json }> }> }
}
/** An example of a request, as the document has it. */
export interface RequestExample {
  method: string
  path: string
  name: string
  value: Json
  form: boolean
}
/** What is sent, with the path as the document writes it. */
export type DescribedCall = Pick<RequestExample, 'method' | 'path'> &
  Partial<Pick<RequestExample, 'value' | 'form'>> & { query?: string }

/** Where what a path is about is listed, when not at the path before its parameter. */
const LISTS: Record<string, string> = { '/a2a': '/v2/agents', '/_understudy/evaluators': '/v2/evaluators' }
const KEYS: Record<string, string> = { memory_store_key: 'key', entity_id: 'entity_id', key: 'key', name: 'name' }

/** The examples of a server's document, and calls with the parameters of their paths filled in. */
export async function newServerOf(app: TestApp) {
  const document = await openApiDocument<Json>()
  const paths = document.paths as Record<string, Record<string, DescribedOperation>>
  const examplesAt = (method: string, path: string): RequestExample[] =>
    Object.entries(paths[path]?.[method]?.requestBody?.content ?? {}).flatMap(([type, { examples = {} }]) =>
      Object.entries(examples).map(([name, { value }]) => ({
        method,
        path,
        name,
        value,
        form: type === 'multipart/form-data',
      })),
    )

  /** Sends a call in a session. */
  async function send(session: string, { method, path, value, form, query = '' }: DescribedCall) {
    const body = value && (form ? await formWith(value) : JSON.stringify(value))
    const type: Record<string, string> = form || !body ? {} : { 'content-type': 'application/json' }
    return app.fetch(`${await filled(session, method, path)}${query}`, {
      method: method.toUpperCase(),
      headers: { ...type, 'x-understudy-session': session },
      ...(body && { body }),
    })
  }

  /** A path whose parameters name the first record that there is; where there is none yet, the first example makes it. */
  async function filled(session: string, method: string, path: string): Promise<string> {
    // A session that is put gets the name of the path; every other path is about what is there.
    if (method === 'put' && path.endsWith('/{name}')) return path.replace('{name}', `put-${session}`)
    let at = ''
    let described = ''
    for (const part of path.split('/').slice(1)) {
      const name = /^\{(\w+)\}$/.exec(part)?.[1]
      at += `/${name === undefined ? part : await idOf(session, name, { path: at, described })}`
      described += `/${part}`
    }
    return at
  }

  async function idOf(session: string, param: string, list: { path: string; described: string }): Promise<string> {
    if (list.described === '/_understudy/tasks') return waitingTask(session)
    const headers = { 'x-understudy-session': session }
    const first = async () => {
      const page = (await app.fetch(LISTS[list.described] ?? list.path, { headers })).json() as unknown
      return (Array.isArray(page) ? page : (page as { data: Json[] }).data)[0] as Json | undefined
    }
    const idIn = (record: Json | undefined) => record && String(record[KEYS[param] ?? '_id'])
    const found = idIn(await first())
    if (found !== undefined) return found
    const [example] = examplesAt('post', LISTS[list.described] ?? list.described)
    const made = example && (await send(session, example))
    if (!made || made.status >= 300) throw new Error(`${list.described}: ${made?.text ?? 'no example makes one'}`)
    return String(idIn(await first()))
  }

  /** A task that waits for a decision, which no list has on a new server. */
  async function waitingTask(session: string): Promise<string> {
    const inSession = { 'x-understudy-session': session }
    const call = { tool_calls: [{ name: 'current_date', arguments: {} }] }
    const fixture = { name: 'wait', match: { operation: 'chat.completions', tools: ['current_date'] }, reply: call }
    await send(session, { method: 'put', path: '/_understudy/fixtures', value: fixture })
    const [run] = examplesAt('post', '/v2/agents/run')
    const { settings, ...agent } = run?.value ?? {}
    const waiting = { ...agent, settings: { ...(settings as Json), tool_approval_required: 'all' } }
    const submitted = await app.post('/v2/agents/run', { ...waiting, configuration: { blocking: true } }, inSession)
    return String(submitted.json().id)
  }

  const methods = Object.entries(paths).flatMap(([path, one]) => Object.keys(one).map((method) => ({ method, path })))
  return { document, send, examples: methods.flatMap(({ method, path }) => examplesAt(method, path)) }
}
