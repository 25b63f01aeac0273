// What makes an operation of the document answer with an error, for all operations alike.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Config } from '../../src/config.ts'
import { createTestApp, type TestApp } from './app.ts'
import { formWith } from './example-calls.ts'
import type { Json } from './workspace.ts'

/** An operation of the document. */
export interface DescribedOperation {
  id: string
  /** In capital letters. */
  method: string
  path: string
  responses: Record<string, Json>
  /** The first example of its body. */
  example?: Json | undefined
  form: boolean
}

/** What is sent in the place of the example. */
interface Change {
  path?: string
  headers?: Record<string, string>
  body?: BodyInit
}

/** One way to be refused. */
export interface Provocation {
  name: string
  settings?: Partial<Config>
  /** Who may be refused so, when not all. */
  only?(operation: DescribedOperation): boolean
  /** What is there before; may give a name for paths. */
  before?(app: TestApp): unknown
  /** What is sent. */
  change?(operation: DescribedOperation, name: unknown): Change | Promise<Change>
  /** Whether operations do not wait for each other. */
  atOnce?: boolean
  /** How the call is made, when not once and by itself. */
  make?(send: () => Promise<Response>, app: TestApp): Promise<Response>
}

const JSON_BODY = { 'content-type': 'application/json' }
const BROKEN_FORM = { 'content-type': 'multipart/form-data; boundary=none' }
const UNKNOWN = 'nothing'
const UNKNOWN_UUID = '00000000-0000-4000-8000-000000000000'
const takesBody = ({ example }: DescribedOperation) => example !== undefined
const isEmulated = ({ path }: DescribedOperation) => !path.startsWith('/_understudy') && !path.startsWith('/files')
const callsModel = ({ path, method }: DescribedOperation) =>
  method === 'POST' && /^\/v(?:2\/router|1)\/(?!messages\/count)/.test(path)
const namesOne = ({ path }: DescribedOperation) => path.includes('{')
const reads = ({ method }: DescribedOperation) => method === 'GET'
const makesRecord = ({ id, method, path }: DescribedOperation) =>
  method === 'POST' && path.startsWith('/v2/') && /^(?:create|run)/.test(id)
const makesSession = ({ path }: DescribedOperation) => path.startsWith('/_understudy/sessions')
const isRun = ({ id }: DescribedOperation) => id === 'runEvaluator' || id === 'invokeEvaluator'
const inSession = (name: string) => () => ({ headers: { 'x-understudy-session': name } })
const named =
  (name: string) =>
  ({ path }: DescribedOperation) => ({ path: filled(path, name) })
const asking =
  (query: string) =>
  ({ path }: DescribedOperation) => ({ path: `${filled(path)}?${query}` })
const patched =
  (fields: Json) =>
  async ({ example, form }: DescribedOperation): Promise<Change> => {
    const body = { ...example, ...fields }
    return { body: form ? await formWith(body) : JSON.stringify(body) }
  }
const filled = (path: string, name = UNKNOWN) => path.replace(/\{\w+\}/g, name)

/** Rules by which everything fails in this way, models and workspace. */
const failing = (fault: object, atWorkspace = fault): object[] => [
  { name: 'models', fault },
  { name: 'workspace', at: 'workspace', match: { operation: '*' }, fault: atWorkspace },
]
const play = (rules: object[]) => (app: TestApp) => {
  const body = JSON.stringify({ name: 'all-fails', clock: 'real', rules })
  return app.fetch('/_understudy/scenario', { method: 'PUT', headers: JSON_BODY, body })
}
/** What paths name that name nothing else. */
const records = async (app: TestApp, { agent = true } = {}) => {
  const evaluator = { key: UNKNOWN, path: 'Default', type: 'llm_eval', mode: 'single', model: 'openai/gpt-4o' }
  await app.post('/v2/evaluators', { ...evaluator, prompt: 'Is it polite?', output_type: 'boolean' })
  if (agent) await app.post('/v2/agents', { ...AGENT, key: UNKNOWN })
}
const AGENT = {
  role: 'Clerk',
  description: 'A clerk.',
  instructions: 'Help.',
  path: 'Default',
  model: 'openai/gpt-4o',
  settings: {},
}
/** What is answered when the session is reset, again and again from `when` on, until there is an answer. */
async function resetting(app: TestApp, send: () => Promise<Response>, when: (scenario: Json) => boolean = () => true) {
  let answered = false
  const answer = send().finally(() => {
    answered = true
  })
  while (!answered) {
    if (when((await app.fetch('/_understudy/scenario')).json())) await app.post('/_understudy/reset', {})
    await new Promise((resolve) => setImmediate(resolve))
  }
  return answer
}
/** For the data of sessions with a file. */
const folder = mkdtempSync(join(tmpdir(), 'provocations-'))
process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
/** A seed whose document is read in a worker, so that a reset can come between. */
const SEED_WITH_A_PAGE = {
  yaml: 'knowledge: [{ key: pages, documents: [{ file: page.html }] }]',
  documents: { 'page.html': btoa('<h1>Hours</h1><p>We open at nine.</p>') },
}
const never = () => new ReadableStream({ pull: () => new Promise(() => {}) })

const OTHER = 529
const FAULTS = [422, 500, 502, 503, 504, OTHER].map(
  (status): Provocation => ({
    name: `a provider, or a rule, that says ${status}`,
    // The workspace knows no provider: one rule is as good as another.
    only: (operation) => (status === OTHER ? isEmulated(operation) : callsModel(operation)) || isRun(operation),
    async before(app) {
      await records(app)
      await play(failing({ type: 'http-error', status }))(app)
    },
  }),
)

/** Every way, so that each status comes about wherever it can. */
export const PROVOCATIONS: readonly Provocation[] = [
  { name: 'an unknown id' },
  { name: 'an invalid host', change: () => ({ headers: { host: 'example.com' } }) },
  { name: 'a page of another origin', change: () => ({ headers: { origin: 'http://example.com' } }) },
  { name: 'a token that is not allowed', settings: { token: ['secret'] } },
  { name: 'a missing token', change: () => ({ headers: { authorization: '' } }) },
  { name: 'an invalid session name', change: inSession('no name') },
  { name: 'an invalid resource name', only: namesOne, change: named('no%20name') },
  { name: 'an operation that is not allowed on the default record', only: namesOne, change: named('default') },
  { name: 'an unknown parameter', only: reads, change: asking('unknown=1') },
  {
    name: 'an unknown path of the workspace',
    only: ({ id }) => id === 'viewWorkspace',
    change: asking('path=/v2/nothing'),
  },
  { name: 'an unknown cursor', only: reads, change: asking(`starting_after=${UNKNOWN}`) },
  {
    name: 'a body that is not JSON or a form',
    only: takesBody,
    change: ({ form }) => ({ body: '{', headers: form ? BROKEN_FORM : JSON_BODY }),
  },
  {
    name: 'a body of another shape',
    only: takesBody,
    change: ({ form }) => ({ body: form ? new FormData() : '[[]]' }),
  },
  {
    name: 'a clock without an instruction',
    only: ({ id }) => id === 'moveClock',
    change: ({ path }) => ({ path: filled(path, 'default'), body: '{}' }),
  },
  {
    name: 'a reset while the clock is moved',
    only: ({ id }) => id === 'moveClock',
    change: ({ path }) => ({ path: filled(path, 'default'), body: '{"advance":"10m"}' }),
    async make(send, app) {
      const { clock } = app.understudy.sessions.get('default')
      if (clock.kind === 'real') throw new Error('there is nothing to move')
      // Work that does not end holds it.
      void clock.work(new Promise<never>(() => {}))
      const answer = send()
      while (clock.waiting === 0) await new Promise((resolve) => setImmediate(resolve))
      await app.post('/_understudy/reset', {})
      return answer
    },
  },
  { name: 'an unknown model', only: callsModel, change: patched({ model: 'nobody/nothing' }) },
  { name: 'a reference to an unknown record', only: makesRecord, change: patched({ project_id: UNKNOWN_UUID }) },
  { name: 'an unknown memory store', only: makesRecord, change: patched({ memory_stores: [UNKNOWN] }) },
  { name: 'feedback on an unknown trace', settings: { strict: true }, only: ({ id }) => id === 'submitFeedback' },
  {
    name: 'an unknown type',
    only: takesBody,
    before: records,
    change: () => ({ body: 'Hello', headers: { 'content-type': 'text/plain' } }),
  },
  {
    name: 'a body beyond --max-body',
    settings: { max_body: 1_000 },
    only: takesBody,
    before: records,
    change: ({ form }) => ({ body: JSON.stringify('x'.repeat(1_000)), headers: form ? BROKEN_FORM : JSON_BODY }),
  },
  {
    name: 'an endless body',
    settings: { client_timeout: 300 },
    atOnce: true,
    only: takesBody,
    before: records,
    change: () => ({ body: never(), headers: JSON_BODY }),
  },
  {
    name: 'a decision on an ended task',
    only: ({ path }) => path.includes('{task_id}'),
    async before(app) {
      await records(app)
      const message = { role: 'user', parts: [{ kind: 'text', text: 'Hello' }] }
      const body = { message, configuration: { blocking: true } }
      return (await app.post(`/v2/agents/${UNKNOWN}/task`, body)).json().id
    },
    change: ({ path }, task) => ({ path: filled(path.replace('{task_id}', String(task))) }),
  },
  { name: 'a duplicate', only: makesSession, make: (send) => send().then(send) },
  {
    name: 'one session too many',
    settings: { max_sessions: 1 },
    before: (app) => app.post('/_understudy/reset', {}),
    change: inSession('another'),
  },
  {
    name: 'a server that stops',
    before({ understudy }) {
      understudy.sessions.drain()
      understudy.sessions.refuseNew()
    },
    change: inSession('another'),
  },
  ...FAULTS,
  {
    name: 'a reset in between',
    only: isEmulated,
    before: play(failing({ type: 'hang' }, { type: 'delay', for: '60s' })),
    make: (send, app) => resetting(app, send),
  },
  {
    name: 'a reset in between of a session with a file',
    settings: { db: join(folder, 'data.db') },
    only: ({ id }) => id === 'seedWorkspace',
    change: () => ({ body: JSON.stringify(SEED_WITH_A_PAGE) }),
    make: (send, app) => resetting(app, send),
  },
  {
    name: 'a reset during a model call',
    only: isRun,
    before: play(failing({ type: 'hang' }).slice(0, 1)),
    async make(send, app) {
      await records(app)
      return resetting(app, send, ({ rules }) => (rules as Json[])[0]?.triggered !== 0)
    },
  },
]

/** Sends the example of an operation, changed. */
async function provoke({ app, name }: Made, operation: DescribedOperation, provocation: Provocation) {
  const { method, path, example, form } = operation
  const { headers = {}, ...change } = (await provocation.change?.(operation, name)) ?? {}
  const body = change.body ?? (example && (await encoded(example, form)))
  const type = typeof body === 'string' ? JSON_BODY : {}
  const send = () => {
    const init = { method, headers: { authorization: 'Bearer any', ...type, ...headers }, ...(body && { body }) }
    return app.understudy.app.fetch(new Request(`http://localhost${change.path ?? filled(path)}`, init))
  }
  return provocation.make ? provocation.make(send, app) : send()
}

/** The examples as they are sent. */
const bodies = new WeakMap<Json, string | FormData>()
async function encoded(example: Json, form: boolean): Promise<string | FormData> {
  const body = bodies.get(example) ?? (form ? await formWith(example) : JSON.stringify(example))
  bodies.set(example, body)
  return body
}

interface Made {
  app: TestApp
  name: unknown
}

/** Provokes operations at an application of its own; `answered` hears of each answer. */
export async function provokeAll(
  provocation: Provocation,
  operations: readonly DescribedOperation[],
  answered: (operation: DescribedOperation, answer: Response) => Promise<void>,
): Promise<void> {
  const { settings, before, only, atOnce } = provocation
  const app = createTestApp(settings)
  const made = { app, name: await before?.(app) }
  const all = operations.filter((operation) => only?.(operation) ?? true)
  const one = async (operation: DescribedOperation) => answered(operation, await provoke(made, operation, provocation))
  if (atOnce) await Promise.all(all.map(one))
  else for (const operation of all) await one(operation)
  await app.close()
}
