// bun test/support/databases/make.ts EXECUTABLE NAME: NAME.zst is a database that an executable of an earlier version has
// written, NAME.json.zst what that version said of it. Made once, before the version that follows changes what is stored.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const [executable = '', name = ''] = process.argv.slice(2)
const folder = mkdtempSync(join(tmpdir(), 'understudy-'))
const file = join(folder, 'old.db')
const child = Bun.spawn(
  [executable, 'serve', '--port', '0', '--json', '--clock', 'virtual', '--seed-file', 'none', '--db', file],
  { cwd: folder, env: { PATH: process.env.PATH ?? '' }, stdout: 'pipe' },
)
const { value } = await child.stdout.getReader().read()
const { url }: { url: string } = JSON.parse(new TextDecoder().decode(value))
const ask = async (path: string, body?: unknown, headers: Record<string, string> = {}) => {
  const response = await fetch(`${url}${path}`, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { authorization: 'Bearer any', 'content-type': 'application/json', ...headers },
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  })
  const text = await response.text()
  return response.ok ? JSON.parse(text.startsWith('{') ? text : 'null') : null
}
const CHAT = '/v2/router/chat/completions'
const model = 'openai/gpt-4o'
const messages = [{ role: 'user', content: 'Hello, how are you?' }]

await ask(CHAT, { model, messages })
await ask(CHAT, { model, messages, stream: true })
await ask(CHAT, { model, messages, cache: { type: 'exact_match', ttl: 600 } })
await ask(CHAT, { model, messages, cache: { type: 'exact_match', ttl: 600 } })
await ask(CHAT, { model, messages: [{ role: 'user', content: 'Hello, {{name}}' }], variables: { name: 'Ada' } })
await ask(
  CHAT,
  {
    model,
    messages,
    name: 'named',
    thread: { id: 'thread-1', tags: ['a'] },
    identity: { id: 'someone', display_name: 'Some One' },
    metadata: { team: 'a "quoted" one' },
  },
  { 'idempotency-key': 'once', 'x-stainless-retry-count': '2' },
)
await ask(CHAT, 'no JSON at all')
await ask(CHAT, { model: 'nobody/nothing', messages })
await ask(CHAT, { model: 'openai/none', messages, fallbacks: [{ model }] })
await ask('/v2/router/no-such-path', {})
await ask('/v2/router/embeddings', { model: 'openai/text-embedding-3-small', input: ['one', 'two'] })
await ask('/v2/router/responses', { model, input: 'Remember this.' })
const picture = { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } }
await ask(CHAT, { model, messages: [{ role: 'user', content: [{ type: 'text', text: 'Look.' }, picture] }] })
await ask('/v2/contacts', { external_id: 'one', display_name: 'One' })
const agent = { key: 'helper', role: 'Helper', description: 'Helps.', instructions: 'Help.', path: 'Default', model }
await ask('/v2/agents', { ...agent, settings: {} })
await ask('/v2/agents/helper/task', {
  message: { role: 'user', parts: [{ kind: 'text', text: 'Do it.' }] },
  configuration: { blocking: true },
})
// So long that it is stored in parts.
await ask(CHAT, { model: 'openai/gpt-4.1', messages: [{ role: 'user', content: `${'long '.repeat(300_000)}😀` }] })

const { data } = await ask('/_understudy/traces?limit=200')
const traces = await Promise.all(data.map(({ id }: { id: string }) => ask(`/_understudy/traces/${id}`)))
const said = {
  list: data,
  traces,
  thread: await ask('/_understudy/traces?thread=thread-1'),
  verify: await ask('/_understudy/verify'),
  snapshot: await ask('/_understudy/snapshot'),
}
child.kill('SIGTERM')
await child.exited
const pack = async (target: string, bytes: Uint8Array) =>
  Bun.write(join(import.meta.dir, target), Bun.zstdCompressSync(bytes, { level: 19 }))
await pack(`${name}.zst`, await Bun.file(file).bytes())
await pack(`${name}.json.zst`, Buffer.from(JSON.stringify(said)))
rmSync(folder, { recursive: true })
