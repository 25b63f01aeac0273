// A round trip with another emulator as the provider: recorded through its API, replayed without it.
// Slow because it starts a program of Node.
import { afterAll, expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { cassetteApp } from '../support/cassette-app.ts'
import { emptyFolder } from '../support/server.ts'

const folder = emptyFolder()
afterAll(folder.remove)
const CLI = join(import.meta.dir, '../../node_modules/@copilotkit/aimock/dist/cli.js')
const FIXTURES = {
  fixtures: [
    { match: { userMessage: 'hello' }, response: { content: 'Hello from aimock, in several chunks.' } },
    {
      match: { userMessage: 'weather' },
      response: { toolCalls: [{ name: 'get_weather', arguments: '{"city":"Oslo"}' }] },
    },
    {
      match: { userMessage: 'fail' },
      response: { error: { message: 'overloaded', type: 'server_error' }, status: 503 },
    },
  ],
}

/** A port that nobody uses. */
const freePort = () =>
  new Promise<number>((resolve) => {
    const server = createServer()
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number }
      server.close(() => resolve(port))
    })
  })

async function startAimock() {
  const node = Bun.which('node')
  if (!node) throw new Error('node is missing')
  const port = await freePort()
  const file = join(folder.path, 'fixtures.json')
  writeFileSync(file, JSON.stringify(FIXTURES))
  const child = Bun.spawn([node, CLI, '-p', String(port), '-f', file, '--log-level', 'silent'], {
    stdout: 'ignore',
    stderr: 'ignore',
  })
  const url = `http://127.0.0.1:${port}`
  while (
    !(await fetch(url).then(
      () => true,
      () => false,
    ))
  )
    await Bun.sleep(20)
  return {
    url: `${url}/v1`,
    async stop() {
      child.kill()
      await child.exited
    },
  }
}

test('replay of another emulator: gives clients the same bytes without it', async () => {
  const aimock = await startAimock()
  const cassettes = join(folder.path, 'cassettes')
  const all = async (app: ReturnType<typeof cassetteApp>) => {
    const texts: string[] = []
    for (const stream of [false, true])
      for (const content of ['hello', 'weather', 'fail']) {
        const messages = [{ role: 'user', content }]
        const { status, text } = await app.post('/v1/chat/completions', { model: 'openai/gpt-4o', stream, messages })
        texts.push(`${status} ${text}`)
        const anthropic = { model: 'claude-opus-4-8', max_tokens: 100, stream, messages }
        const other = await app.post('/v1/messages', anthropic)
        texts.push(`${other.status} ${other.text}`)
      }
    return texts
  }
  const recording = cassetteApp(aimock.url, { record: cassettes })
  const first = await all(recording)
  await recording.finish()
  await aimock.stop()
  expect(first.join('\n')).toContain('Hello from aimock')
  expect(first.join('\n')).toContain('get_weather')
  expect(first.join('\n')).toContain('503')
  const replaying = cassetteApp(aimock.url, { replay: cassettes, speed: 'instant' })
  expect(await all(replaying)).toEqual(first)
  expect((await replaying.finish()).sessions[0]?.replayed).toMatchObject({ attempts: 12, missed: 0, unused: [] })
})
