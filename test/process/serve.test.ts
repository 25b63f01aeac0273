// understudy serve as a person or a script starts it: what it prints, where it listens, and how it stops.
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { networkInterfaces } from 'node:os'
import { join } from 'node:path'
import manifest from '../../package.json' with { type: 'json' }
import { runCommand, serveHere } from '../support/cli.ts'
import { emptyFolder, run, type Server, startServer, startUntil } from '../support/server.ts'

const root = join(import.meta.dir, '..', '..')
const folder = emptyFolder()
const cwd = folder.path
let server: Server
beforeAll(async () => {
  server = await startServer(['--db', 'shared.db'], { cwd })
})
afterAll(async () => {
  // It would wait for a balancer, since it was asked for its health again and again.
  await server.stop('SIGKILL')
  folder.remove()
})

describe('ready message', () => {
  test('says where, what and who in the JSON line', () => {
    expect(server.ready).toEqual({
      url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:[1-9]\d*$/),
      pid: server.pid,
      mode: 'fixture',
      db: join(cwd, 'shared.db'),
      version: manifest.version,
    })
  })

  test('has the warnings in the JSON line, usually none', async () => {
    const own = emptyFolder()
    for (const name of ['a.yaml', 'b.yaml'])
      writeFileSync(
        join(own.path, name),
        'match: { operation: chat.completions, user: Ping }\nreply: { content: Pong. }\n',
      )
    const warned = await serveHere(['--db', ':memory:', '--fixtures', own.path], { cwd: own.path })
    await warned.stop()
    own.remove()
    expect(warned.ready).toMatchObject({ warnings: [expect.stringContaining('can never match')] })
  })

  test('contains everything for people, and the snippet runs', async () => {
    const own = emptyFolder()
    const { printed, stop } = await startUntil(['serve', '--port', '0', '--scenario', 'stream-cut'], 'content)\n', {
      cwd: own.path,
    })
    const url = /http:\/\/127\.0\.0\.1:\d+/.exec(printed)?.[0]
    expect(printed).toStartWith(`Understudy ${manifest.version} is listening at ${url}\n`)
    expect(printed).toContain('fixture: cannot reach the network')
    expect(printed).toContain(join(own.path, 'understudy.db'))
    expect(printed).toMatch(/fixtures +\d+ loaded/)
    expect(printed).toMatch(/scenario +stream-cut, in every session/)
    expect(printed).toContain(`${url}/swagger`)
    const snippet = printed.slice(printed.indexOf('import OpenAI'))
    expect(snippet.trim().split('\n')).toHaveLength(3)
    const pasted = Bun.spawn([process.execPath, 'run', '-'], { cwd: root, stdin: Buffer.from(snippet), stdout: 'pipe' })
    expect(await new Response(pasted.stdout).text()).toContain('"Hello!"')
    expect(await stop()).toBe(0)
    own.remove()
  })

  test('is written to --ready-file and replaces that of an earlier run', async () => {
    const file = join(cwd, 'ready.json')
    writeFileSync(file, 'old')
    const before = new Set(readdirSync(cwd))
    const one = await serveHere(['--db', ':memory:', '--ready-file', 'ready.json', '--scenario', 'bad-key'], { cwd })
    expect(one.ready).toMatchObject({ scenario: 'bad-key' })
    expect(readFileSync(file, 'utf8')).toBe(`${JSON.stringify(one.ready)}\n`)
    expect(readdirSync(cwd).filter((name) => !before.has(name))).toEqual([])
    await one.stop()
  })

  test('uses a flag before the environment before the file', async () => {
    const own = emptyFolder()
    const dbWith = async (args: string[], env: Record<string, string>) => {
      const one = await serveHere(args, { cwd: own.path, env })
      await one.stop()
      return one.ready.db
    }
    writeFileSync(join(own.path, 'understudy.yaml'), 'db: file.db\n')
    writeFileSync(join(own.path, 'other.yaml'), 'db: other.db\n')
    const env = { UNDERSTUDY_DB: 'environment.db' }
    expect(await dbWith(['--db', 'flag.db'], env)).toBe(join(own.path, 'flag.db'))
    expect(await dbWith([], env)).toBe(join(own.path, 'environment.db'))
    expect(await dbWith([], {})).toBe(join(own.path, 'file.db'))
    expect(await dbWith(['--config', 'other.yaml'], {})).toBe(join(own.path, 'other.db'))
    own.remove()
  })

  test('is replaced by the output of --version, --help and help serve', async () => {
    expect(await run(['--version'])).toEqual({ code: 0, stdout: `${manifest.version}\n`, stderr: '' })
    const help = await runCommand(['--help'])
    expect(help).toMatchObject({ code: 0, stderr: '' })
    expect(help.stdout).toContain('serve')
    const serve = await runCommand(['help', 'serve'])
    expect(serve).toEqual(await runCommand(['serve', '--help']))
    expect(serve).toMatchObject({ code: 0, stderr: '' })
    for (const flag of [
      '--port',
      '--host',
      '--db',
      '--fixtures',
      '--on-unmatched',
      '--seed',
      '--namespace',
      '--token',
      '--json',
      '--ready-file',
      '--max-body',
      '--cors',
      'UNDERSTUDY_',
    ]) {
      expect(serve.stdout).toContain(flag)
    }
  })
})

describe('listening', () => {
  const loopback = Object.values(networkInterfaces()).flatMap((all) => all?.filter(({ internal }) => internal) ?? [])
  const hosts = ['localhost', ...loopback.map(({ address }) => (address.includes(':') ? `[${address}]` : address))]
  test.each(hosts)('is reachable at %s', async (host) => {
    const { port } = new URL(server.url)
    expect((await fetch(`http://${host}:${port}/_understudy/health`)).status).toBe(200)
  })

  test('fails with one line and exit code 1 when the port is taken', async () => {
    const { port } = new URL(server.url)
    const { code, stdout, stderr } = await runCommand(['serve', '--port', port, '--db', ':memory:'], { cwd })
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toMatch(
      new RegExp(`^understudy: cannot listen on 127.0.0.1:${port}: the port is in use.*--port.*\\n$`),
    )
  })

  test('fails with the address as the reason when --host has none', async () => {
    const args = ['serve', '--host', 'nowhere.invalid', '--token', 'x', '--port', '0', '--db', ':memory:']
    const { code, stderr } = await runCommand(args, { cwd })
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr:
        'understudy: cannot listen on nowhere.invalid:0: not an address of this machine; omit --host for loopback, or use 0.0.0.0 for all addresses\n',
    })
  })

  test('uses only the address of --host, which the URL names', async () => {
    const one = await serveHere(['--host', '127.0.0.2', '--db', ':memory:'], { cwd })
    const { hostname, port } = new URL(one.url)
    expect(hostname).toBe('127.0.0.2')
    expect((await fetch(`${one.url}/_understudy/health`)).status).toBe(200)
    expect(fetch(`http://127.0.0.1:${port}/`)).rejects.toThrow()
    await one.stop()
  })

  test('is possible on every interface with a required token', async () => {
    const one = await serveHere(['--host', '0.0.0.0', '--token', 'secret', '--db', ':memory:'], { cwd })
    const traces = `http://127.0.0.1:${new URL(one.url).port}/_understudy/traces`
    expect((await fetch(traces)).status).toBe(401)
    expect((await fetch(traces, { headers: { authorization: 'Bearer secret' } })).status).toBe(200)
    await one.stop()
  })
})

describe('stopping', () => {
  const slow = emptyFolder()
  const chat = { model: 'openai/gpt-4o', messages: [{ role: 'user', content: 'slowly' }], stream: true }
  const headers = { authorization: 'Bearer any', 'content-type': 'application/json' }
  beforeAll(() => {
    const words = Array.from({ length: 12 }, (_, index) => `word${index}`).join(' ')
    mkdirSync(join(slow.path, 'chat.completions'))
    writeFileSync(
      join(slow.path, 'chat.completions', 'slow.yaml'),
      `match: { user: slowly }\nreply: { content: '${words}', timing: { tokens_per_second: 60 } }\n`,
    )
  })
  afterAll(slow.remove)

  test.each(['SIGTERM', 'SIGINT'] as const)(
    'by %s lets a running stream finish and leaves a clean database file',
    async (signal) => {
      const db = join(slow.path, `${signal}.db`)
      const one = await startServer(['--fixtures', '.', '--db', db], { cwd: slow.path })
      // An idle connection that is kept open must not hold the server up.
      await (await fetch(`${one.url}/_understudy/health`)).text()
      const response = await fetch(`${one.url}/v2/router/chat/completions`, {
        method: 'POST',
        headers,
        body: JSON.stringify(chat),
      })
      const reader = (response.body as ReadableStream<Uint8Array>).getReader()
      const decoder = new TextDecoder()
      let text = decoder.decode((await reader.read()).value)
      expect(text).not.toContain('[DONE]')
      const stopped = one.stop(signal)
      for (let part = await reader.read(); !part.done; part = await reader.read()) text += decoder.decode(part.value)
      expect(text).toContain('"content":"11"')
      expect(text).toEndWith('data: [DONE]\n\n')
      expect(await stopped).toBe(0)
      expect(fetch(`${one.url}/_understudy/health`)).rejects.toThrow()
      expect(statSync(`${db}-wal`, { throwIfNoEntry: false })?.size ?? 0).toBe(0)

      const again = await serveHere(['--db', db], { cwd: slow.path })
      const trace = await fetch(`${again.url}/_understudy/traces/${response.headers.get('x-understudy-trace')}`)
      expect(await trace.json()).toMatchObject({ outcome: 'succeeded', status: 200, stream: true })
      await again.stop()
    },
  )

  const impatient: [NodeJS.Signals, number][] = [
    ['SIGTERM', 0],
    ['SIGINT', 1],
  ]
  test.each(impatient)('by a second %s during a response exits with %d', async (signal, code) => {
    const one = await startServer(['--fixtures', '.', '--db', ':memory:'], { cwd: slow.path })
    const response = await fetch(`${one.url}/v2/router/chat/completions`, {
      method: 'POST',
      headers,
      body: JSON.stringify(chat),
    })
    process.kill(one.pid, signal)
    // Signals that wait are one: the second is sent when the first has shut the door.
    while ((await fetch(`${one.url}/_understudy/health`).catch(() => undefined))?.ok);
    const stopped = one.stop(signal)
    const text = await response.text().catch(() => 'cut')
    expect(text.endsWith('data: [DONE]\n\n')).toBe(code === 0)
    expect(await stopped).toBe(code)
  })
})
