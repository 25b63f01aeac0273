// npm run bench store [SIZES]: reads, writes, deletes and list pages per second of work with ever more records; the cost must not grow.
import { readConfig } from '../src/config.ts'
import { createUnderstudy } from '../src/deps.ts'
import { contacts } from '../src/resources/contacts.ts'
import { createRecord, workOf } from '../src/resources/verbs.ts'
import { median, megabytes, scratch } from './support.ts'

const sizes = (process.argv[2] ?? '100,10000,1000000').split(',').map(Number)
const SECONDS = 2
const RUNS = 3
const BATCH = 1_000
const headers = { authorization: 'Bearer any', 'content-type': 'application/json' }

/** Milliseconds that this process has worked: other programs on the machine do not count. */
const worked = () => {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1_000
}

/** Calls per second of work, one after another. */
async function rate(run: () => Promise<unknown>): Promise<number> {
  const rates: number[] = []
  for (let turn = 0; turn < RUNS; turn++) {
    const until = worked() + (SECONDS * 1_000) / RUNS
    const began = worked()
    let calls = 0
    while (worked() < until) {
      await run()
      calls++
    }
    rates.push((calls * 1_000) / (worked() - began))
  }
  return median(rates)
}

const { folder } = scratch()
const config = { ...readConfig({ seed_file: ['none'] }, {}), db: `${folder}/store.db` }
const { app, sessions } = createUnderstudy(config, (error) => {
  throw error
})
const call = async (method: string, path: string, body?: unknown) => {
  const request = { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) }
  const response = await app.fetch(new Request(`http://localhost${path}`, request))
  if (!response.ok) throw new Error(await response.text())
  return (await response.json()) as { _id: string; data: { _id: string }[] }
}
let made = 0
let renamed = 0
const body = () => ({ external_id: `user-${made++}`, display_name: 'Somebody' })
const create = () => call('POST', '/v2/contacts', body())
const session = sessions.find('default')
const { workspace_id, created_by_id } = (await create()) as unknown as Record<string, string>
const caller = { workspace: String(workspace_id), user: String(created_by_id) }
/** Records that nobody measures are made many to a transaction. */
const fill = (count: number) =>
  session.transact(() => {
    const work = workOf(session, caller)
    for (let made = 0; made < count; made++) createRecord(contacts, work, body())
  })
const rows = []
for (const size of sizes) {
  while (made < size) await fill(Math.min(BATCH, size - made))
  const half = Math.floor(made / 2)
  const middle = await call('POST', '/v2/contacts', { external_id: `user-${half}` })
  const page = `/v2/contacts?limit=50&starting_after=${middle._id}`
  rows.push({
    records: made,
    'reads/s': Math.round(await rate(() => call('GET', `/v2/contacts/${middle._id}`))),
    'pages/s': Math.round(await rate(() => call('GET', page))),
    'updates/s': Math.round(
      await rate(() => call('PATCH', `/v2/contacts/${middle._id}`, { display_name: `${renamed++}` })),
    ),
    'creates/s': Math.round(await rate(create)),
    'creates and deletes/s': Math.round(await rate(async () => call('DELETE', `/v2/contacts/${(await create())._id}`))),
    memory: megabytes(process.memoryUsage.rss()),
  })
}
console.table(rows)
sessions.close()
