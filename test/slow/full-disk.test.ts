// Files with a maximum size, as on a disk that is nearly full: what cannot be written is reported, nothing is stored partially, and the
// rest continues.
import { afterAll, expect, setDefaultTimeout, test } from 'bun:test'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { errorOf } from '../support/errors.ts'
import { EXECUTABLE, emptyFolder, environment, run, type Server, startServer } from '../support/server.ts'

// Each test starts the executable several times, on a machine that may be busy.
setDefaultTimeout(60_000)
const folder = emptyFolder()
const cwd = folder.path
const running: Server[] = []
afterAll(async () => {
  for (const server of running) await server.stop()
  folder.remove()
})
const onLinux = test.skipIf(process.platform !== 'linux')

/** Starts the executable in a shell in which files may have so many blocks (of 512 or 1024 bytes), and a write beyond is refused. */
function limited(blocks: number, args: readonly string[]) {
  const line = `trap '' XFSZ; ulimit -S -f ${blocks}; exec "$0" "$@"`
  return Bun.spawn(['sh', '-c', line, EXECUTABLE, ...args], { cwd, env: environment(), stdout: 'pipe', stderr: 'pipe' })
}
async function finished(blocks: number, args: readonly string[]) {
  const child = limited(blocks, args)
  const stderr = await new Response(child.stderr).text()
  return { code: await child.exited, stderr }
}

const headers = { authorization: 'Bearer any', 'content-type': 'application/json' }
const chat = (url: string, content: string) =>
  fetch(`${url}/v2/router/chat/completions`, {
    method: 'POST',
    headers,
    body: JSON.stringify({ model: 'openai/gpt-4o', messages: [{ role: 'user', content }] }),
  })
const contact = (url: string, id: string, text: string) =>
  fetch(`${url}/v2/contacts`, {
    method: 'POST',
    headers,
    body: JSON.stringify({ external_id: id, metadata: { text } }),
  })
const listed = async (url: string, path: string) => {
  const answer = await fetch(`${url}${path}`, { headers })
  return ((await answer.json()) as { data: { id: string; external_id?: string }[] }).data
}

onLinux('full disk: fails calls and records with 507 and keeps what was answered', async () => {
  const child = limited(1_200, ['serve', '--port', '0', '--json', '--db', 'full.db'])
  const { value } = await child.stdout.getReader().read()
  const { url } = JSON.parse(new TextDecoder().decode(value)) as { url: string }
  const kept: (string | null)[] = []
  let refused: Response | undefined
  for (let index = 0; index < 200 && !refused; index++) {
    const answer = await chat(url, `${index} ${'x'.repeat(50_000)}`)
    if (answer.ok) kept.push(answer.headers.get('x-understudy-trace'))
    else refused = answer
  }
  const error = errorOf((await refused?.text()) ?? '', 507)
  expect(error.code).toBe('storage_failed')
  expect(error.message).toContain('nothing of this is stored')
  expect(kept.length).toBeGreaterThan(0)
  const stored: string[] = []
  let unstored = 200
  for (let index = 0; index < 50 && unstored < 300; index++) {
    const { status } = await contact(url, `c${index}`, 'y'.repeat(50_000))
    if (status < 300) stored.push(`c${index}`)
    else unstored = status
  }
  expect(unstored).toBe(507)
  // It goes on: what is read is answered, and a session in memory needs no disk.
  expect((await fetch(`${url}/_understudy/health`)).status).toBe(200)
  expect((await chat(`${url}/s/other`, 'Hello')).status).toBe(200)
  expect((await listed(url, '/_understudy/traces?limit=200')).map(({ id }) => id)).toEqual(
    kept.toReversed() as string[],
  )
  child.kill('SIGKILL')
  await child.exited
  const server = await startServer(['--db', 'full.db'], { cwd })
  running.push(server)
  expect((await listed(server.url, '/_understudy/traces?limit=200')).map(({ id }) => id)).toEqual(
    kept.toReversed() as string[],
  )
  const contacts = await listed(server.url, '/v2/contacts?limit=50')
  expect(contacts.flatMap(({ external_id: id = '' }) => (/^c\d+$/.test(id) ? [id] : [])).sort()).toEqual(stored.sort())
  expect((await chat(server.url, 'Hello')).status).toBe(200)
})

onLinux('full disk: fails an export with a clear error and keeps the previous file', async () => {
  const server = await startServer(['--db', ':memory:'], { cwd })
  running.push(server)
  for (const text of ['a', 'b']) expect((await chat(server.url, text.repeat(60_000))).status).toBe(200)
  const files = ['saved.json', 'calls.html']
  for (const file of files) writeFileSync(join(cwd, file), 'of before')
  for (const args of [
    ['snapshot', 'save', 'saved.json', '--url', server.url],
    ['trace', 'export', '--html', 'calls.html', '--url', server.url],
  ]) {
    const { code, stderr } = await finished(8, args)
    expect([args[0], code]).toEqual([args[0], 1])
    expect(stderr.trimEnd().split('\n')).toHaveLength(1)
    expect(stderr).toMatch(/^understudy: .*(saved\.json|calls\.html).*EFBIG/)
  }
  for (const file of files) expect(readFileSync(join(cwd, file), 'utf8')).toBe('of before')
  expect(readdirSync(cwd).filter((name) => name.endsWith('.new'))).toEqual([])
  // With room it is written.
  expect((await run(['snapshot', 'save', 'saved.json', '--url', server.url], { cwd })).code).toBe(0)
})
