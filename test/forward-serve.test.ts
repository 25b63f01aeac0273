// The executable with providers to forward to: it says so, finds its keys, and has the model packages in it.
import { afterAll, expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { HELLO, KEY, startProvider } from './support/forward.ts'
import { emptyFolder, startServer, startUntil } from './support/server.ts'

const folder = emptyFolder()
const cwd = folder.path
const claude = {
  ...{ type: 'message', id: 'msg_1', role: 'assistant', model: 'claude', stop_reason: 'end_turn', stop_sequence: null },
  content: [{ type: 'text', text: 'From Claude.' }],
  usage: { input_tokens: 3, output_tokens: 2 },
}
const gemini = {
  candidates: [{ content: { role: 'model', parts: [{ text: 'From Gemini.' }] }, finishReason: 'STOP' }],
  usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 2, totalTokenCount: 5 },
}
const provider = startProvider((request) => Response.json(request.url.endsWith('/messages') ? claude : gemini))
afterAll(async () => {
  await provider.stop()
  folder.remove()
})
writeFileSync(
  join(cwd, 'understudy.yaml'),
  `providers:
  anthropic: { base_url: "${provider.url}", backend: forward }
  google:
    base_url: ${provider.url}
    api_key: \${MY_KEY}
    backend: forward
`,
)
const env = { ANTHROPIC_API_KEY: KEY, MY_KEY: KEY }

test('both model packages answer, with the keys of the environment', async () => {
  const server = await startServer(['--db', ':memory:'], { cwd, env })
  expect(server.ready.mode).toBe('forward')
  const contentOf = async (model: string) => {
    const response = await fetch(`${server.url}/v2/router/chat/completions`, {
      method: 'POST',
      headers: { authorization: 'Bearer any', 'content-type': 'application/json' },
      body: JSON.stringify({ ...HELLO, model }),
    })
    const { choices } = (await response.json()) as { choices?: { message: { content: string } }[] }
    return choices?.[0]?.message.content
  }
  expect(await contentOf('anthropic/claude-sonnet-4-5')).toBe('From Claude.')
  expect(await contentOf('google/gemini-2.5-flash')).toBe('From Gemini.')
  expect(provider.seen.map(({ headers }) => headers['x-api-key'] ?? headers['x-goog-api-key'])).toEqual([KEY, KEY])
  expect(await contentOf('openai/gpt-4o')).toContain('No fixture matched')
  expect(provider.seen).toHaveLength(2)
  await server.stop()
})

test('the lines for people say that real calls are made, and to whom', async () => {
  const args = ['serve', '--port', '0', '--db', ':memory:']
  const { printed, stop } = await startUntil(args, 'content)\n', { cwd, env })
  expect(printed).toContain('mode      forward: calls go to anthropic, google (the rest is answered from fixtures)\n')
  expect(printed).not.toContain(KEY)
  await stop()
})

const forwarding: [string, string[], string][] = [
  ['all providers', ['--backend', 'forward'], 'mistral, ollama, openai, openrouter'],
  ['some providers', [], 'calls to anthropic, google'],
]
test.each(forwarding)('a virtual clock in front of %s is a real one, as one line says', async (_, args, whose) => {
  const place = { cwd, env: { ...env, OPENAI_API_KEY: KEY } }
  const server = await startServer(['--db', ':memory:', '--clock', 'virtual', ...args], place)
  const answer = await fetch(`${server.url}/_understudy/sessions`, { headers: { authorization: 'Bearer any' } })
  expect(await answer.json()).toMatchObject({ data: [{ clock: { kind: 'real' } }] })
  await server.stop()
  const lines = (await server.stderr).trim().split('\n')
  expect(lines).toEqual([expect.stringContaining('sessions have a real clock: a virtual clock does not wait for real')])
  expect(lines[0]).toContain(whose)
})
