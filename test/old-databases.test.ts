// A database file of an earlier version is read as that version read it (test/support/databases/make.ts made it).
import { afterAll, expect, test } from 'bun:test'
import { join } from 'node:path'
import type { StoredTrace, TraceRecord } from '../src/contract/trace.ts'
import { testApps } from './support/app.ts'
import { CHAT, user } from './support/chat.ts'
import { emptyFolder } from './support/server.ts'

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
  snapshot: { tables: Record<string, object[]> }
}
const databases = join(import.meta.dir, 'support', 'databases')
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

test.each(['version-8.db'])('%s: lists, traces, verdicts and the snapshot are byte for byte the same', async (name) => {
  const { app, json, said } = await opened(name)
  const text = async (path: string) => (await app.fetch(path)).text
  expect(await text('/_understudy/traces?limit=200')).toContain(JSON.stringify(said.list))
  for (const trace of said.traces) expect(await text(`/_understudy/traces/${trace.id}`)).toBe(JSON.stringify(trace))
  expect(((await json('/_understudy/traces?thread=thread-1')) as Said['thread']).data).toEqual(said.thread.data)
  expect(said.thread.data).toHaveLength(1)
  const verdict = (await json('/_understudy/verify')) as Said['verify']
  // Calls of paths that there are not are only counted, not stored.
  const stored = said.verify.findings.filter(({ kind }) => kind !== 'wrong-address')
  expect(verdict).toMatchObject({ calls: said.verify.calls, findings: stored })
  expect(JSON.stringify((await json('/_understudy/snapshot')) as never)).toBe(JSON.stringify(said.snapshot))
})

test.each(['version-8.db'])('%s: new calls stand beside the old ones, and push them out', async (name) => {
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
})
