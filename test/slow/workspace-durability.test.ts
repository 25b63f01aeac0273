// Kills under load (`npm run bench kill` makes a thousand): no acknowledged change is lost or stored partially, and the file stays
// healthy.
// Not faster: each kill is that of a process.
import { afterAll, expect, test } from 'bun:test'
import { join } from 'node:path'
import { emptyFolder, type Server, startServer } from '../support/server.ts'

const KILLS = 5
/** Changes that must be acknowledged before a kill; the others are under way then. */
const ENOUGH = 6
const CLIENTS = 4

type Json = Record<string, unknown>
const folder = emptyFolder()
const cwd = folder.path
afterAll(folder.remove)
const start = () => startServer(['--db', 'kills.db', '--seed-file', 'none'], { cwd })
const headers = { authorization: 'Bearer any', 'content-type': 'application/json' }

async function call({ url }: Server, method: string, path: string, body?: unknown): Promise<Json> {
  const response = await fetch(`${url}${path}`, {
    method,
    headers,
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  const answer = (await response.json()) as Json
  if (!response.ok) throw new Error(String(answer.message))
  return answer
}

/** Every record of a list, page by page. */
async function all(server: Server, path: string): Promise<Json[]> {
  const records: Json[] = []
  for (let cursor = ''; ; ) {
    const page = await call(server, 'GET', `${path}?limit=50${cursor}`)
    records.push(...(page.data as Json[]))
    if (!page.has_more) return records
    cursor = `&starting_after=${records.at(-1)?._id}`
  }
}

test('killed workspace server: loses nothing acknowledged and stores nothing partially', async () => {
  let server = await start()
  const dataset = await call(server, 'POST', '/v2/datasets', { display_name: 'killed' })
  const points = `/v2/datasets/${dataset._id}/datapoints`
  const tool = await call(server, 'POST', '/v2/tools', { key: 'killed', function: { name: 'f' } })
  const acknowledged = new Set<unknown>()
  let description = ''
  for (let kill = 0; kill < KILLS; kill++) {
    const callContext = server
    let killed: Promise<unknown> | undefined
    const client = async (number: number) => {
      for (let turn = 0; ; turn++) {
        try {
          const { _id } = await call(callContext, 'POST', points, { inputs: { kill, number, turn } })
          acknowledged.add(_id)
          // One writer of the tool, so that its last acknowledged change is known.
          if (number === 0) {
            const wanted = `kill ${kill}, turn ${turn}`
            await call(callContext, 'PATCH', `/v2/tools/${tool._id}`, { description: wanted })
            description = wanted
          }
        } catch {
          return
        }
        if (acknowledged.size >= (kill + 1) * ENOUGH) killed ??= callContext.stop('SIGKILL')
      }
    }
    await Promise.all(Array.from({ length: CLIENTS }, (_, number) => client(number)))
    await killed
    server = await start()
  }
  expect(acknowledged.size).toBeGreaterThanOrEqual(KILLS * ENOUGH)

  const stored = await all(server, points)
  const ids = new Set(stored.map(({ _id }) => _id))
  expect([...acknowledged].filter((id) => !ids.has(id))).toEqual([])
  // A datapoint, the count, the version and its record are one change.
  const { metadata } = await call(server, 'GET', `/v2/datasets/${dataset._id}`)
  expect(metadata).toEqual({ datapoints_count: stored.length, total_versions: stored.length + 1 })
  const versions = await all(server, `/v2/datasets/${dataset._id}/versions`)
  expect(versions.map(({ version }) => version)).toEqual(
    Array.from({ length: stored.length + 1 }, (_, index) => `1.0.${stored.length - index}`),
  )
  const changes = await all(server, `/v2/tools/${tool._id}/versions`)
  expect(changes.map(({ version }) => version)).toEqual(changes.map((_, index) => `1.0.${changes.length - 1 - index}`))
  expect(changes.map(({ data }) => (data as Json).description)).toContain(description)
  expect(changes[0]?.data).toEqual(await call(server, 'GET', `/v2/tools/${tool._id}`))
  await server.stop()

  const check = `console.log(new (require('bun:sqlite').Database)(${JSON.stringify(join(cwd, 'kills.db'))}).query('PRAGMA integrity_check').get().integrity_check)`
  expect(Bun.spawnSync([process.execPath, '-e', check]).stdout.toString().trim()).toBe('ok')
}, 180_000)
