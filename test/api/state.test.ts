// Seeds, snapshots and resets, with the commands of a user and over HTTP.
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { snapshotDifferences } from '../../src/cli/print/snapshot-diff.ts'
import { createTestApp, SHIPPED_WORKSPACE } from '../support/app.ts'
import { runCommand, serveHere } from '../support/cli.ts'
import { emptyFolder, type Server } from '../support/server.ts'
import { strict } from '../support/strict/workspace.ts'
import { type Json, workspaceOf } from '../support/workspace.ts'

const folder = emptyFolder()
const cwd = folder.path
let server: Server
beforeAll(async () => {
  server = await serveHere(['--db', 'state.db', '--clock', 'virtual'], { cwd })
})
afterAll(async () => {
  await server.stop()
  folder.remove()
})
const cli = (...args: string[]) => runCommand([...args, '--url', server.url], { cwd })
const data = (body: Json) => body.data as Json[]
const ask = async (path: string, init: RequestInit = {}) => {
  const response = await fetch(`${server.url}${path}`, {
    ...init,
    headers: { authorization: 'Bearer any', ...init.headers },
  })
  return (await response.json()) as Json
}
const post = (path: string, body: unknown) =>
  ask(path, { method: 'POST', body: JSON.stringify(body), headers: { 'content-type': 'application/json' } })

describe('shipped workspace', () => {
  test('is complete, and strict clients read it', async () => {
    const app = createTestApp(SHIPPED_WORKSPACE)
    const { ok } = workspaceOf(app)
    const tools = strict.tools?.parse(await ok('GET', '/v2/tools')) as Json
    expect(data(tools)).toHaveLength(3)
    for (const { _id } of data(tools)) {
      expect(data(await ok('GET', `/v2/tools/${_id}/versions`)).length).toBeGreaterThan(1)
    }
    const [dataset] = data(await ok('GET', '/v2/datasets'))
    expect(strict.dataset?.parse(dataset)).toMatchObject({ metadata: { datapoints_count: 20 } })
    for (const point of data(await ok('GET', `/v2/datasets/${dataset?._id}/datapoints?limit=50`)))
      strict.datapoint?.parse(point)
    for (const set of (await ok('GET', '/v2/human-eval-sets')) as unknown as Json[]) strict.human_review_set?.parse(set)
    for (const contact of data(await ok('GET', '/v2/contacts'))) strict.contact?.parse(contact)
    const [base] = data(await ok('GET', '/v2/knowledge'))
    const sources = data(await ok('GET', `/v2/knowledge/${base?._id}/datasources`))
    expect(sources.map((source) => strict.datasource?.parse(source))).toHaveLength(2)
    for (const source of sources) expect(source).toMatchObject({ status: 'completed' })
    const query = { query: 'How long can I return things?' }
    const { matches } = await ok('POST', `/v2/knowledge/${base?._id}/search`, query)
    expect((matches as Json[])[0]).toMatchObject({ text: expect.stringContaining('30 days') })
    expect((await ok('GET', '/_understudy/events')).data).toEqual([])
    app.close()
  })

  test('fills a new session once, and deleted records stay deleted', async () => {
    const app = createTestApp(SHIPPED_WORKSPACE)
    const { ok } = workspaceOf(app)
    for (const { _id } of data(await ok('GET', '/v2/contacts'))) await ok('DELETE', `/v2/contacts/${_id}`)
    expect(data(await ok('GET', '/v2/contacts'))).toEqual([])
    app.close()
  })
})

describe('seed files', () => {
  const seed = `
contacts:
  - { external_id: one, display_name: One }
tools:
  - { key: t, function: { name: f }, changes: [{ description: two }] }
knowledge:
  - { key: k, documents: [{ file: docs/a.md }] }
review_sets:
  - { display_name: s, project: P, human_eval_ids: [01JGFJJZ00Q8VN5K2ZC3R7WXYA], filter_type: name, filter_value: x }
datasets:
  - { display_name: d, datapoints: [{ inputs: { a: 1 } }, { inputs: { a: 2 } }] }
`
  mkdirSync(join(cwd, 'docs'), { recursive: true })
  writeFileSync(join(cwd, 'docs', 'a.md'), 'Parcels take three days.')
  writeFileSync(join(cwd, 'seed.yaml'), seed)

  test('fill a running session, and change nothing the second time', async () => {
    const session = ['--session', 'seeded']
    expect(await cli('seed', 'seed.yaml', ...session)).toMatchObject({ code: 0, stderr: '' })
    await cli('snapshot', 'save', 'once.json', ...session)
    expect(await cli('seed', 'seed.yaml', ...session)).toMatchObject({ code: 0, stderr: '' })
    expect(await cli('snapshot', 'diff', 'once.json', ...session)).toMatchObject({
      code: 0,
      stdout: 'no differences\n',
    })
    const inSession = (path: string) => ask(path, { headers: { 'x-understudy-session': 'seeded' } })
    const [project] = data(await inSession('/v2/projects')).filter(({ name }) => name === 'P')
    expect(await inSession('/v2/human-eval-sets')).toContainEqual(
      expect.objectContaining({ display_name: 's', project_id: project?._id }),
    )
  })

  test('of the command line fill a new workspace in order, or not at all', async () => {
    writeFileSync(join(cwd, 'more.yaml'), 'contacts: [{ external_id: two }]')
    const files = createTestApp({ seed_file: [join(cwd, 'seed.yaml'), join(cwd, 'more.yaml')] })
    const ids = data(await workspaceOf(files).ok('GET', '/v2/contacts')).map(({ external_id }) => external_id)
    expect(ids).toEqual(['two', 'one'])
    files.close()
    const none = createTestApp()
    expect(data(await workspaceOf(none).ok('GET', '/v2/contacts'))).toEqual([])
    none.close()
  })

  test('report their progress, which is empty when none is loading', async () => {
    const documents = Object.fromEntries(
      ['a', 'b', 'c'].map((name) => [`${name}.md`, Buffer.from(name).toString('base64')]),
    )
    const files = Object.keys(documents).map((file) => ({ file }))
    const yaml = JSON.stringify({ knowledge: [{ key: 'far', documents: files }] })
    const app = createTestApp()
    const { ok } = workspaceOf(app)
    const progress = () => ok('GET', '/_understudy/seed')
    let ended = false
    const seeding = ok('POST', '/_understudy/seed', { yaml, documents }).then(() => {
      ended = true
    })
    const seen: Json[] = []
    while (!ended) {
      seen.push(await progress())
      await new Promise((resolve) => setImmediate(resolve))
    }
    await seeding
    expect(seen.map(({ total }) => total)).toContain(4)
    expect(seen.map(({ done }) => done)).toContain(2)
    expect(await progress()).toEqual({ done: 0, total: 0 })
    app.close()
  })

  const wrong: [string, string, string[]][] = [
    [
      'an unknown type',
      'contact: []',
      ['wrong.yaml:1', "contact is not known (did you mean 'contacts'?); valid: projects, contacts"],
    ],
    [
      'an invalid field',
      'contacts:\n  - { external_id: a }\n  - { external_id: b, email: nobody }',
      ['wrong.yaml:3', 'contacts[1].email', 'e-mail'],
    ],
    [
      'an unknown field',
      'tools:\n  - { key: a, function: { name: f }, colour: red }',
      ['wrong.yaml:2', 'tools[0].colour is not known'],
    ],
    [
      'an unknown field of an evaluator',
      'evaluators:\n  - type: llm_eval\n    key: a\n    model: openai/x\n    prompt: p\n    colour: red',
      ['wrong.yaml:6', 'evaluators[0].colour is not known; valid: '],
    ],
    [
      "an unknown field of an evaluator's settings",
      'evaluators:\n  - type: json_schema\n    key: a\n    schema: { any: thing }\n    guardrail_config: { enabled: true, type: boolean, value: true,\n      alert: true }',
      ['wrong.yaml:6', 'evaluators[0].guardrail_config.alert is not known'],
    ],
    [
      'an unknown type of evaluator',
      'evaluators:\n  - { type: python_eval, key: a }',
      ['wrong.yaml:2', 'evaluators[0].type', 'not emulated'],
    ],
    [
      'an unknown field of a human review set',
      'review_sets:\n  - display_name: s\n    human_eval_ids: [01JGFJJZ00Q8VN5K2ZC3R7WXYA]\n    filter_type: name\n    filter_value: x\n    filter_values: [y]',
      ['wrong.yaml:6', 'review_sets[0].filter_values is not known'],
    ],
    [
      'a missing document',
      'knowledge:\n  - { key: a, documents: [{ file: no.md }] }',
      ['wrong.yaml:2', 'knowledge[0].documents[0].file', '"no.md"'],
    ],
    ['invalid YAML', 'contacts: [', ['wrong.yaml:']],
  ]
  test.each(wrong)('are rejected with line and path and create nothing for %s', async (_, yaml, said) => {
    writeFileSync(join(cwd, 'wrong.yaml'), yaml)
    const before = await ask('/_understudy/snapshot')
    for (const finished of [
      await cli('seed', 'wrong.yaml'),
      await runCommand(['serve', '--port', '0', '--db', ':memory:', '--seed-file', 'wrong.yaml'], { cwd }),
    ]) {
      expect(finished.code).toBe(2)
      for (const part of said) expect(finished.stderr).toContain(part)
    }
    expect(await ask('/_understudy/snapshot')).toEqual(before)
  })
})

describe('snapshots', () => {
  test('are byte-identical after a round trip through another session and server', async () => {
    await ask('/v2/tools')
    await post('/v2/router/chat/completions', {
      model: 'openai/gpt-4o',
      messages: [{ role: 'user', content: 'hello' }],
    })
    expect(await cli('snapshot', 'save', 'a.json')).toMatchObject({ code: 0 })
    expect(await cli('snapshot', 'load', 'a.json', '--session', 'copy')).toMatchObject({ code: 0 })
    expect(await cli('snapshot', 'save', 'b.json', '--session', 'copy')).toMatchObject({ code: 0 })
    const [a, b] = [readFileSync(join(cwd, 'a.json'), 'utf8'), readFileSync(join(cwd, 'b.json'), 'utf8')]
    expect(b).toBe(a)
    const other = createTestApp()
    await workspaceOf(other).ok('POST', '/_understudy/snapshot', JSON.parse(a))
    expect(await workspaceOf(other).ok('GET', '/_understudy/snapshot')).toEqual(JSON.parse(a))
    const found = data(await workspaceOf(other).ok('GET', '/v2/knowledge'))[0]
    const hits = await workspaceOf(other).ok('POST', `/v2/knowledge/${found?._id}/search`, { query: 'return' })
    expect((hits.matches as Json[]).length).toBeGreaterThan(0)
    await workspaceOf(other).ok('POST', '/v2/contacts', { external_id: 'after' })
    other.close()
  })

  test('are loaded even when larger than the body limit', async () => {
    const small = createTestApp({ max_body: 2_000 })
    const { ok, call } = workspaceOf(small)
    for (const letter of 'abc') await ok('POST', '/v2/contacts', { external_id: letter.repeat(100) })
    const snapshot = await ok('GET', '/_understudy/snapshot')
    expect(JSON.stringify(snapshot).length).toBeGreaterThan(2_000)
    await ok('POST', '/_understudy/reset')
    await ok('POST', '/_understudy/snapshot', snapshot)
    expect(data(await ok('GET', '/v2/contacts'))).toHaveLength(3)
    expect((await call('POST', '/v2/contacts', { external_id: 'a', metadata: { a: 'a'.repeat(2_000) } })).status).toBe(
      413,
    )
    small.close()
  })

  test('are compared by diff, which names added, removed and changed records', async () => {
    await cli('snapshot', 'save', 'c.json')
    const [first, second] = data(await ask('/v2/contacts'))
    const added = await post('/v2/contacts', { external_id: 'new' })
    await post('/v2/contacts', { external_id: first?.external_id, display_name: 'Other' })
    await ask(`/v2/contacts/${second?._id}`, { method: 'DELETE' })
    const { code, stdout } = await cli('snapshot', 'diff', 'c.json')
    expect(code).toBe(1)
    // The whole of it: counters and time stamps are nothing that anybody wrote.
    expect(stdout.trimEnd().split('\n').sort()).toEqual(
      [
        `    display_name: ${JSON.stringify(first?.display_name)} -> "Other"`,
        `+ contact ${added._id} (new)`,
        `- contact ${second?._id} (${second?.display_name})`,
        `~ contact ${first?._id} (${first?.display_name})`,
      ].sort(),
    )
  })

  test('are compared deeply by diff, without unwritten fields', async () => {
    const session = ['--session', 'deep']
    const headers = { 'x-understudy-session': 'deep', 'content-type': 'application/json' }
    // Taken before anything was looked at: the workspace that fills a new session is no difference.
    await cli('snapshot', 'save', 'deep.json', ...session)
    const [dataset] = data(await ask('/v2/datasets', { headers }))
    const points = `/v2/datasets/${dataset?._id}/datapoints`
    const [point] = data(await ask(points, { headers }))
    expect(await cli('snapshot', 'diff', 'deep.json', ...session)).toMatchObject({
      code: 0,
      stdout: 'no differences\n',
    })
    const body = JSON.stringify({ inputs: { topic: 'gifts', tags: ['a', 'b'] } })
    await ask(`${points}/${point?._id}`, { method: 'PATCH', headers, body })
    const { code, stdout } = await cli('snapshot', 'diff', 'deep.json', ...session)
    expect(code).toBe(1)
    expect(stdout).toContain(`~ datapoint ${point?._id}\n`)
    const before = point?.inputs as Json
    expect(stdout).toContain(`    inputs.topic: ${JSON.stringify(before.topic)} -> "gifts"\n`)
    expect(stdout).toContain('    inputs.tags: nothing -> ["a","b"]\n')
    for (const noise of ['sqlite_sequence', 'body', '.version', 'updated']) expect(stdout).not.toContain(noise)
  })

  test('are compared by diff, which names new calls and changed file contents', async () => {
    const row = { kind: 'file', id: 'f1', seq: 1, body: { _id: 'f1', file_name: 'a.txt', size: 3 } }
    const blob = (text: string) => ({ seq: 1, bytes: { base64: Buffer.from(text).toString('base64') } })
    const trace = { seq: 1, id: 't1', record: { id: 't1', operation: 'chat.completions' } }
    const before = { tables: { records: [row], blobs: [blob('abc')], traces: [] } }
    const after = { tables: { records: [row], blobs: [blob('abcd')], traces: [trace] } }
    expect(snapshotDifferences(before, after)).toEqual([
      '~ file f1 (a.txt)',
      '    contents: "3 bytes" -> "4 bytes"',
      '+ trace t1 (chat.completions)',
    ])
    expect(snapshotDifferences(after, after)).toEqual([])
  })

  const refused: [string, string, string[]][] = [
    ['a newer format', '{"understudy_snapshot": 99, "tables": {}}', ['understudy_snapshot', 'newer understudy']],
    ['another kind of file', '{"a": 1}', ['understudy_snapshot']],
    ['invalid JSON', 'hello', ['d.json is not a snapshot']],
    ['an invalid row', '{"understudy_snapshot": 1, "tables": {"records": [{"seq": 1}]}}', ['cannot be loaded']],
  ]
  test.each(refused)('are rejected without a change for %s', async (_, text, said) => {
    writeFileSync(join(cwd, 'd.json'), text)
    const before = await ask('/_understudy/snapshot')
    const { code, stderr } = await cli('snapshot', 'load', 'd.json')
    expect(code).toBe(1)
    for (const part of said) expect(stderr).toContain(part)
    expect(await ask('/_understudy/snapshot')).toEqual(before)
  })
})

describe('reset', () => {
  test('empties one session and leaves others, and --all empties every one', async () => {
    const app = createTestApp()
    const [one, two] = [
      workspaceOf(app, { 'x-understudy-session': 'one' }),
      workspaceOf(app, { 'x-understudy-session': 'two' }),
    ]
    const fresh = await one.ok('POST', '/v2/contacts', { external_id: 'a' })
    await two.ok('POST', '/v2/contacts', { external_id: 'a' })
    expect(await one.ok('POST', '/_understudy/reset')).toEqual({ sessions: ['one'] })
    expect(data(await one.ok('GET', '/v2/contacts'))).toEqual([])
    expect(data(await two.ok('GET', '/v2/contacts'))).toHaveLength(1)
    expect(await one.ok('POST', '/v2/contacts', { external_id: 'a' })).toEqual(fresh)
    await one.ok('POST', '/_understudy/reset?all=true')
    expect(data(await two.ok('GET', '/v2/contacts'))).toEqual([])
    app.close()
  })
  test('works from the command line', async () => {
    await post('/v2/contacts', { external_id: 'gone' })
    expect(await cli('reset')).toEqual({ code: 0, stdout: 'reset default\n', stderr: '' })
    expect(data(await ask('/v2/contacts')).map(({ external_id }) => external_id)).not.toContain('gone')
  })
  test('is one error line without a server', async () => {
    const { code, stderr } = await runCommand(['reset', '--url', 'http://127.0.0.1:9'], { cwd })
    expect([code, stderr]).toEqual([1, expect.stringMatching(/^understudy: no server responds at [^\n]+\n$/)])
  })
})
