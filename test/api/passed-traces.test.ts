// A compatible API passes on what its provider may refuse: whatever a field holds, the trace of the call can be read and saved.
import { afterAll, expect, test } from 'bun:test'
import { readForwarding } from '../../src/config/providers.ts'
import { onDamagedRow } from '../../src/db/damaged-rows.ts'
import { createTestApp } from '../support/app.ts'

const provider = Bun.serve({ port: 0, fetch: () => Response.json({ error: { message: 'no' } }, { status: 400 }) })
const settingsOf = (kind: string) => ({ kind, base_url: `${provider.url.href}v1`, api_key: 'k', backend: 'forward' })
const section = {
  value: { plain: settingsOf('openai-compatible'), claudes: settingsOf('anthropic') },
  locationOf: () => '',
}
const forwarding = readForwarding({ section, backend: 'fixture', environment: {} })
const app = createTestApp({ clock: 'real', forwarding })
const damaged: string[] = []
onDamagedRow((message) => damaged.push(message))
afterAll(async () => {
  await app.close()
  provider.stop(true)
})

const VALUES: readonly unknown[] = ['x', 1, true, [], [1], { id: 1 }, { a: { b: 1 } }]
const FIELDS = ['metadata', 'thread', 'stream', 'messages', 'tools', 'user', 'max_tokens', 'response_format', 'input']
const CALLS = [
  ['/v1/chat/completions', 'plain/a'],
  ['/v1/responses', 'plain/a'],
  ['/v1/completions', 'plain/a'],
  ['/v1/embeddings', 'plain/a'],
  ['/v1/messages', 'claudes/a'],
] as const

test.each(CALLS)(
  'traces: can be read and saved after a call of %s with any value in any field',
  async (path, model) => {
    const session = `s${path.replaceAll('/', '-')}`
    for (const field of FIELDS)
      for (const value of VALUES) {
        const messages = [{ role: 'user', content: 'Hi' }]
        const body = { model, messages, input: 'Hi', prompt: 'Hi', max_tokens: 9, [field]: value, temperature: 'hot' }
        const answer = await app.post(`/s/${session}${path}`, body)
        const trace = answer.headers.get('x-understudy-trace')
        const found = trace === null ? undefined : await app.fetch(`/s/${session}/_understudy/traces/${trace}`)
        expect([field, value, found?.status ?? 200]).toEqual([field, value, 200])
      }
    const saved = await app.fetch(`/s/${session}/_understudy/snapshot`)
    const loaded = await app.post('/s/other/_understudy/snapshot', saved.text)
    expect([loaded.status, loaded.text]).toEqual([200, expect.any(String)])
    const { data } = (await app.fetch(`/s/${session}/_understudy/traces?limit=100`)).json() as { data: unknown[] }
    expect(data.length).toBe(FIELDS.length * VALUES.length)
    expect(damaged).toEqual([])
  },
)
