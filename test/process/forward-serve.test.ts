// The executable with forwarded providers: it says so, finds its keys, and contains the model packages.
import { afterAll, expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { serveHere } from '../support/cli.ts'
import { HELLO, KEY, startProvider } from '../support/forward.ts'
import { emptyFolder, run, startServer, startUntil } from '../support/server.ts'

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

test('forwarding server: calls both model packages with the keys of the environment', async () => {
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

test('forwarding server: prints that real calls are made, and to whom', async () => {
  const args = ['serve', '--port', '0', '--db', ':memory:']
  const { printed, stop } = await startUntil(args, 'content)\n', { cwd, env })
  expect(printed).toContain('mode      forward: calls go to anthropic, google (other providers use fixtures)\n')
  expect(printed).not.toContain(KEY)
  await stop()
})

const forwarding: [string, string[], string][] = [
  ['all providers', ['--backend', 'forward'], 'mistral, ollama, openai, openrouter'],
  ['some providers', [], 'calls to anthropic, google'],
]
test.each(forwarding)(
  'forwarding server: replaces a virtual clock for %s by a real one and says so',
  async (_, args, whose) => {
    const place = { cwd, env: { ...env, OPENAI_API_KEY: KEY } }
    const server = await serveHere(['--db', ':memory:', '--clock', 'virtual', ...args], place)
    const answer = await fetch(`${server.url}/_understudy/sessions`, { headers: { authorization: 'Bearer any' } })
    expect(await answer.json()).toMatchObject({ data: [{ clock: { kind: 'real' } }] })
    await server.stop()
    const lines = server
      .stderr()
      .split('\n')
      .filter((line) => line.includes('clock'))
    expect(lines).toEqual([
      expect.stringContaining('sessions use a real clock: a virtual clock does not wait for real'),
    ])
    expect(lines[0]).toContain(whose)
  },
)

const outside = (source: string) => [
  `calls to anthropic with the key from ANTHROPIC_API_KEY go to ${provider.url} (${source}:2)`,
  `calls to google with the key from MY_KEY go to ${provider.url} (${source}:4)`,
]

test('forwarding server: names unusual provider addresses when it is ready', async () => {
  const args = [
    'serve',
    '--port',
    '0',
    '--db',
    ':memory:',
    '--otlp',
    'http://me:tell-nobody@127.0.0.1:9/v1/traces?key=tell-nobody',
  ]
  const { printed, stop } = await startUntil(args, 'content)\n', {
    cwd,
    env: { ...env, HTTP_PROXY: 'http://me:tell-nobody@127.0.0.1:9' },
  })
  for (const line of outside('understudy.yaml')) expect(printed).toContain(`  sends     ${line}\n`)
  expect(printed).toContain('  sends     forwarded calls over http:// go to http://(masked)@127.0.0.1:9 (HTTP_PROXY)\n')
  expect(printed).toContain(
    '  sends     traces of all calls, without content, with the headers authorization go to http://127.0.0.1:9/v1/traces (--otlp)\n',
  )
  expect(printed).not.toContain('tell-nobody')
  await stop()
})

test('forwarding server: puts them in the ready line for programs and on standard error for people', async () => {
  const server = await serveHere(['--db', ':memory:', '--config', join(cwd, 'understudy.yaml')], { cwd, env })
  const source = join(cwd, 'understudy.yaml')
  expect(server.ready.addresses).toEqual([
    {
      for: 'anthropic',
      url: provider.url,
      gets: 'calls to anthropic with the key from ANTHROPIC_API_KEY',
      source: `${source}:2`,
    },
    { for: 'google', url: provider.url, gets: 'calls to google with the key from MY_KEY', source: `${source}:4` },
  ])
  await server.stop()
  expect(server.stderr().trim().split('\n')).toEqual(outside(source).map((line) => `understudy: ${line}`))
})

const COMMANDS = ['exec', 'explore']
test.each(COMMANDS)('forwarding %s: names unusual provider addresses before the command runs', async (command) => {
  const place = emptyFolder()
  const { stderr } = await run(
    [command, '--config', join(cwd, 'understudy.yaml'), '--', 'sh', '-c', 'echo begun >&2; exit 7'],
    { cwd: place.path, env },
  )
  place.remove()
  for (const line of outside(join(cwd, 'understudy.yaml'))) {
    expect(stderr).toContain(`understudy: ${line}\n`)
    expect(stderr.indexOf(line)).toBeLessThan(stderr.indexOf('begun'))
  }
})

test('forwarding server: prints no addresses when they are the usual ones', async () => {
  const place = emptyFolder()
  writeFileSync(join(place.path, 'understudy.yaml'), 'providers:\n  openai: { backend: forward }\n')
  const server = await serveHere(['--db', ':memory:'], { cwd: place.path, env: { OPENAI_API_KEY: KEY } })
  expect(server.ready).not.toHaveProperty('addresses')
  await server.stop()
  expect(server.stderr()).toBe('')
  place.remove()
})
