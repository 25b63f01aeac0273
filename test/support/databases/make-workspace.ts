// bun test/support/databases/make-workspace.ts EXECUTABLE NAME: NAME.zst is a database with records of the workspace that an
// executable of an earlier version has written, NAME.json.zst what that version answered for each. Made once, before a change.
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
const headers = { authorization: 'Bearer any' }
type Made = { _id: string; status?: string }

/** What was answered, by path. */
const said: Record<string, unknown> = {}
async function ask(path: string, body?: object): Promise<Made> {
  const form = body instanceof FormData
  const response = await fetch(`${url}${path}`, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { ...headers, ...(body && !form && { 'content-type': 'application/json' }) },
    ...(body && { body: form ? body : JSON.stringify(body) }),
  })
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`)
  return (await response.json()) as Made
}
async function make(path: string, body: object): Promise<string> {
  const at = `${path}/${(await ask(path, body))._id}`
  said[at] = await ask(at)
  return at
}

const dataset = await make('/v2/datasets', { display_name: 'Questions', path: 'Support' })
for (const topic of ['shipping', 'returns'])
  await make(`${dataset}/datapoints`, { inputs: { topic }, messages: [{ role: 'user', content: 'Where is it?' }] })
const form = new FormData()
form.set('file', new File(['# Returns\n\nWithin 30 days.'], 'returns.md'))
form.set('purpose', 'something')
const upload = await make('/v2/files', form)
const base = await make('/v2/knowledge', { key: 'help', display_name: 'Help pages', path: 'Support' })
const source = await ask(`${base}/datasources`, { file_id: upload.split('/').at(-1) })
const at = `${base}/datasources/${source._id}`
while ((await ask(at)).status !== 'completed') await Bun.sleep(50)
said[at] = await ask(at)
for (const chunk of ((await ask(`${at}/chunks`)) as unknown as { data: Made[] }).data)
  said[`${at}/chunks/${chunk._id}`] = chunk
const schema = { type: 'object', properties: { subject: { type: 'string' } }, required: ['subject'] }
await make('/v2/evaluators', { type: 'json_schema', key: 'ticket', schema })
await make('/v2/evaluators', { type: 'llm_eval', key: 'polite', prompt: 'Polite?', model: 'openai/gpt-4o' })
const review = { human_eval_ids: ['01JGFJJZ00Q8VN5K2ZC3R7WXYA'] }
await make('/v2/human-eval-sets', { ...review, display_name: 'a', filter_type: 'span_type', filter_values: ['chat'] })
await make('/v2/human-eval-sets', { ...review, display_name: 'b', filter_type: 'name', filter_value: 'x*' })
await make('/v2/tools', { key: 'look_up', function: { name: 'look_up' } })
await make('/v2/tools', {
  key: 'server',
  type: 'mcp',
  mcp: { server_url: 'https://mcp.example', connection_type: 'sse' },
})
await make('/v2/contacts', { external_id: 'one', display_name: 'One', email: null })
const model = 'openai/text-embedding-3-small'
const store = await make('/v2/memory-stores', { key: 'people', description: 'People.', embedding_config: { model } })
const memory = await make(`${store}/memories`, { entity_id: 'ann' })
await make(`${memory}/documents`, { text: 'Likes short answers.' })
const agent = { key: 'helper', role: 'Helper', description: 'Helps.', instructions: 'Help.', path: 'Default' }
await make('/v2/agents', { ...agent, model: 'openai/gpt-4o', settings: {} })

// What was made later may have changed what they count.
for (const path of Object.keys(said)) said[path] = await ask(path)

child.kill('SIGTERM')
await child.exited
const pack = async (target: string, bytes: Uint8Array) =>
  Bun.write(join(import.meta.dir, target), Bun.zstdCompressSync(bytes, { level: 19 }))
await pack(`${name}.zst`, await Bun.file(file).bytes())
await pack(`${name}.json.zst`, Buffer.from(JSON.stringify(said)))
rmSync(folder, { recursive: true })
