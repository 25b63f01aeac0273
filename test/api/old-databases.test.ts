// A database file of an earlier version is read as that version read it (test/support/databases/make.ts made it).
import { afterAll, expect, test } from 'bun:test'
import { join } from 'node:path'
import canonicalize from 'canonicalize'
import type { StoredTrace, TraceRecord } from '../../src/contract/trace.ts'
import { testApps } from '../support/app.ts'
import { CHAT, user } from '../support/chat.ts'
import { emptyFolder } from '../support/server.ts'
import type { Neighbour } from '../support/strict/neighbours.ts'
import { strictClient } from '../support/strict-client.ts'

const { appWith, close } = testApps()
const folder = emptyFolder()
afterAll(async () => {
  await close()
  folder.remove()
})

interface Said {
  list: TraceRecord[]
  traces: StoredTrace[]
  thread: { data: TraceRecord[] }
  verify: { calls: number; findings: { kind: string }[] }
  snapshot: { tables: Record<string, object[]> & { traces: { record: TraceRecord }[] } }
}
const databases = join(import.meta.dir, '..', 'support', 'databases')
const unpacked = async (name: string) => Bun.zstdDecompressSync(await Bun.file(join(databases, name)).bytes())

/** An application over a copy of a file, and what the version that wrote it said of it. */
async function opened(name: string, copy = name) {
  const db = join(folder.path, copy)
  await Bun.write(db, await unpacked(`${name}.zst`))
  const app = appWith({ db, seed_file: ['none'] })
  const json = async (path: string) => (await app.fetch(path)).json() as never
  const said: Said = JSON.parse(Buffer.from(await unpacked(`${name}.json.zst`)).toString())
  return { app, json, said }
}

/** A record as it is listed now: a row of names is shown as it is, and all calls went through the gateway. */
function listed<R extends TraceRecord>(record: R, version: string): R {
  if (version === 'version-8.db') return record
  const fields = Object.entries(record).flatMap((field) =>
    field[0] === 'stream' ? [field, ['route', 'gateway']] : [field],
  )
  return Object.fromEntries(fields) as R
}

test.each(['version-8.db', 'version-9.db'])(
  '%s: lists, traces, verdicts and the snapshot are byte for byte the same',
  async (name) => {
    const { app, json, said } = await opened(name)
    const text = async (path: string) => (await app.fetch(path)).text
    expect(await text('/_understudy/traces?limit=200')).toContain(
      JSON.stringify(said.list.map((record) => listed(record, name))),
    )
    for (const { request, rendered, answer, ...trace } of said.traces) {
      // What version 8 did not keep is said to be missing.
      const told = {
        ...listed(trace as TraceRecord, name),
        request_headers: trace.request_headers ?? null,
        request,
        rendered,
        answer,
      }
      expect(await text(`/_understudy/traces/${trace.id}`)).toBe(JSON.stringify(told))
    }
    expect(((await json('/_understudy/traces?thread=thread-1')) as Said['thread']).data).toEqual(
      said.thread.data.map((record) => listed(record, name)),
    )
    expect(said.thread.data).toHaveLength(1)
    const verdict = (await json('/_understudy/verify')) as Said['verify']
    // Calls of paths that there are not are only counted, not stored.
    const stored = said.verify.findings.filter(({ kind }) => kind !== 'wrong-address')
    expect(verdict).toMatchObject({ calls: said.verify.calls, findings: stored })
    for (const trace of said.snapshot.tables.traces) trace.record = listed(trace.record, name)
    // A snapshot has its keys in order.
    expect(JSON.stringify((await json('/_understudy/snapshot')) as never)).toBe(canonicalize(said.snapshot) as string)
  },
)

/** How each path of a record is read by strict clients now. */
const READ: [RegExp, Neighbour][] = [
  [/datapoints\/[^/]+$/, 'datapoint'],
  [/^\/v2\/datasets\/[^/]+$/, 'dataset'],
  [/^\/v2\/files\//, 'file'],
  [/chunks\/[^/]+$/, 'chunk'],
  [/datasources\/[^/]+$/, 'datasource'],
  [/^\/v2\/knowledge\/[^/]+$/, 'knowledgeBase'],
  [/^\/v2\/evaluators\//, 'evaluator'],
  [/^\/v2\/human-eval-sets\//, 'reviewSet'],
  [/^\/v2\/tools\//, 'tool'],
  [/^\/v2\/contacts\//, 'contact'],
  [/documents\/[^/]+$/, 'document'],
  [/memories\/[^/]+$/, 'memory'],
  [/^\/v2\/memory-stores\/[^/]+$/, 'store'],
  [/^\/v2\/agents\//, 'agent'],
]

test.each(['workspace-1.db'])(
  '%s: every record is read by strict clients, with all that it said before',
  async (name) => {
    const { app, said } = await opened(name)
    const client = strictClient(app)
    for (const [path, before] of Object.entries(said as unknown as Record<string, Record<string, unknown>>)) {
      const [, kind] = READ.find(([pattern]) => pattern.test(path)) ?? []
      if (!kind) throw new Error(`nothing reads ${path}`)
      // A file may have had any purpose, and a schema was an object.
      const { purpose: _, schema, ...same } = before
      const now = await client.call(kind, ['GET', path])
      expect(now).toMatchObject(same)
      if (schema) expect(JSON.parse((now as { schema: string }).schema)).toEqual(schema)
    }
    const chunk = Object.keys(said).find((path) => path.includes('/chunks/')) ?? ''
    const base = chunk.split('/').slice(0, 4).join('/')
    const { matches } = await client.call('matches', ['POST', `${base}/search`], { body: { query: 'returns' } })
    expect(matches).toMatchObject([{ id: chunk.split('/').at(-1) }])
    expect(await client.call('knowledgeBase', ['PATCH', base], { body: { description: 'Old' } })).toMatchObject({
      type: 'internal',
      description: 'Old',
    })
    await client.call('chunk', ['PATCH', chunk], { body: { text: 'Whales sing.' } })
    const ticket = { body: { output: '{"subject":"x"}' } }
    expect(await client.call('invoked', ['POST', '/v2/evaluators/ticket/invoke'], ticket)).toMatchObject({
      value: true,
    })
  },
)

test.each(['version-8.db', 'version-9.db'])(
  '%s: new calls stand beside the old ones, and push them out',
  async (name) => {
    const { app, json, said } = await opened(name, `more-${name}`)
    const ids = async () =>
      ((await json('/_understudy/traces?limit=200')) as { data: TraceRecord[] }).data.map(({ id }) => id)
    const answer = await app.post(CHAT, { model: 'openai/gpt-4o', ...user('One more') })
    const made = answer.headers.get('x-understudy-trace') as string
    expect(await ids()).toEqual([made, ...said.list.map(({ id }) => id)])
    expect((await app.traceOf(answer)).id).toBe(made)
    await app.close()
    const fewer = appWith({ db: join(folder.path, `more-${name}`), keep_traces: 3, seed_file: ['none'] })
    const next = await fewer.post(CHAT, { model: 'openai/gpt-4o', ...user('And another') })
    const { data } = (await fewer.fetch('/_understudy/traces')).json() as unknown as { data: TraceRecord[] }
    expect(data.map(({ id }) => id)).toEqual([next.headers.get('x-understudy-trace'), made, said.list[0]?.id] as never)
  },
)
