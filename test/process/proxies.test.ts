// Proxies of the environment: the local machine is called without one, by Understudy and by the commands that it runs.
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { withoutProxy } from '../../src/lib/direct-fetch.ts'
import { type OwnProcessServer, runCommand, serveHere } from '../support/cli.ts'
import { emptyFolder, environment, type Finished, run, startServer } from '../support/server.ts'

const folder = emptyFolder()
const cwd = folder.path
const proxied: string[] = []
// It answers everything, as an unfriendly one does: what is sent to it would look like a success.
const proxy = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  fetch: (request) => {
    proxied.push(`${request.method} ${request.url}`)
    return Response.json({ status: 'ok', instance: 'the proxy', counts: { sessions: 0 } })
  },
})
const address = `http://127.0.0.1:${proxy.port}`
let server: OwnProcessServer
beforeAll(async () => {
  writeFileSync(join(cwd, 'seed.yaml'), 'contacts: [{ external_id: a }]\n')
  server = await serveHere(['--db', ':memory:'], { cwd })
  // The first request loads what answers it, for which a command may not wait.
  await fetch(`${server.url}/_understudy/health`)
})
afterAll(async () => {
  await server.stop()
  await proxy.stop(true)
  folder.remove()
})

const PROXIES = ['HTTP_PROXY', 'http_proxy', 'ALL_PROXY', 'all_proxy'].map((name) => ({ [name]: address }))
const urlFor = (host: string) => `http://${host}:${new URL(server.url).port}`

const RUNS_ALL = `
import { type OwnProcessServer, runCommand, serveHere } from ${JSON.stringify(join(import.meta.dir, '..', 'support', 'cli.ts'))}
const finished = []
for (const args of JSON.parse(process.argv[1])) finished.push(await runCommand(args, { cwd: process.cwd() }))
await Bun.write(Bun.stdout, JSON.stringify(finished))
process.exit()
`
/** Runs commands in one process, since the runtime reads its proxies once. */
async function runAll(commands: readonly string[][], env: Record<string, string>): Promise<Finished[]> {
  const child = Bun.spawn([process.execPath, '-e', RUNS_ALL, JSON.stringify(commands)], { cwd, env: environment(env) })
  return (await new Response(child.stdout).json()) as Finished[]
}

const HOSTS = ['127.0.0.1', '127.8.9.10', 'localhost', '0.0.0.0', '[::1]', '[::ffff:127.0.0.1]']
/** Half of a list for one variable of two: the next one is for the other half. */
const share = <Item>(list: readonly Item[], index: number) => list.filter((_, at) => at % 2 === index % 2)
test.each(PROXIES.map((env, index) => [env, index] as const))(
  'proxy environment %p: is ignored for a local server',
  async (env, index) => {
    proxied.length = 0
    const { code, stdout } = await run(['health', '--url', server.url], { cwd, env })
    expect([code, stdout]).toEqual([0, expect.stringContaining('is ok')])
    await runAll(
      HOSTS.map((host) => ['health', '--url', urlFor(host)]),
      env,
    )
    const commands = [
      ['trace', 'list', '--url'],
      ['seed', 'seed.yaml', '--url'],
      ['snapshot', 'save', 'x.json', '--url'],
      ['reset', '--url'],
      ['rehearse', 'outage', '--calls', '1', '--against'],
    ]
    for (const command of share(commands, index))
      expect((await run([...command, server.url], { cwd, env })).code).toBe(0)
    expect(proxied).toEqual([])
  },
)

/** A proxy of addresses with https, which are asked for by CONNECT. */
function tunnels() {
  const asked: string[] = []
  const data = (socket: Bun.Socket<undefined>, bytes: Buffer) => {
    asked.push(bytes.toString().split('\r\n', 1)[0] ?? '')
    socket.end('HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\n\r\n')
  }
  const listening = Bun.listen<undefined>({ hostname: '127.0.0.1', port: 0, socket: { data } })
  return { asked, url: `http://127.0.0.1:${listening.port}`, stop: () => listening.stop(true) }
}

test.each(['HTTPS_PROXY', 'https_proxy', 'ALL_PROXY', 'all_proxy'])(
  'proxy variable %s: is ignored for local https',
  async (name) => {
    const { asked, url, stop } = tunnels()
    const env = { [name]: url }
    // Nobody listens there: whoever goes to the proxy is seen by it, and by nothing else.
    const finished = await runAll(
      HOSTS.map((host) => ['health', '--url', `https://${host}:1`]),
      env,
    )
    expect(finished.map(({ code, stderr }) => [code, stderr])).toEqual(
      HOSTS.map((host) => [1, `understudy: no server responds at https://${host}:1\n`]),
    )
    expect(asked).toEqual([])
    if (name.startsWith('HTTPS') || name.startsWith('https')) {
      await run(['health', '--url', 'https://understudy.invalid'], { cwd, env })
      expect(asked).toEqual(['CONNECT understudy.invalid:443 HTTP/1.1'])
    }
    stop()
  },
)

test('proxy environment: applies to other addresses', async () => {
  proxied.length = 0
  await run(['health', '--url', 'http://understudy.example'], { cwd, env: { HTTP_PROXY: address } })
  expect(proxied).toEqual(['GET http://understudy.example/_understudy/health'])
  proxied.length = 0
  const env = { HTTP_PROXY: address, NO_PROXY: 'understudy.invalid' }
  const { stderr } = await run(['health', '--url', 'http://understudy.invalid'], { cwd, env })
  expect(stderr).toContain('no server responds')
  expect(proxied).toEqual([])
})

/** Answers as a collector or a provider on this machine, and says what it was sent. */
function listener(answer: () => Response) {
  const seen: string[] = []
  const listening = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch(request) {
      seen.push(new URL(request.url).pathname)
      return answer()
    },
  })
  return { seen, url: `http://127.0.0.1:${listening.port}`, stop: () => listening.stop(true) }
}
const HELLO = JSON.stringify({ model: 'openai/gpt-4o', messages: [{ role: 'user', content: 'Hello' }] })
const chat = async (url: string) =>
  fetch(`${url}/v2/router/chat/completions`, {
    method: 'POST',
    headers: { authorization: 'Bearer any', 'content-type': 'application/json' },
    body: HELLO,
  })

test.each(PROXIES)('proxy environment %p: is ignored for a local collector and provider', async (env) => {
  proxied.length = 0
  const collector = listener(() => Response.json({}))
  const message = { role: 'assistant', content: 'From the provider.' }
  const provider = listener(() =>
    Response.json({
      id: 'x',
      object: 'chat.completion',
      created: 1,
      model: 'm',
      choices: [{ index: 0, message, finish_reason: 'stop' }],
    }),
  )
  const file = join(cwd, 'forwards.yaml')
  writeFileSync(file, `providers: { openai: { base_url: "${provider.url}", api_key: sk-x, backend: forward } }\n`)
  const place = { cwd, env: { ...env, UNDERSTUDY_CONFIG: file } }
  const own = await startServer(['--db', ':memory:', '--otlp', collector.url], place)
  const answer = await chat(own.url)
  expect(await answer.text()).toContain('From the provider.')
  await own.stop()
  expect(provider.seen).toEqual(['/chat/completions'])
  expect(new Set(collector.seen)).toEqual(new Set(['/v1/traces']))
  expect(proxied).toEqual([])
  await Promise.all([collector.stop(), provider.stop()])
})

const PRINT = 'process.stdout.write(JSON.stringify([process.env.NO_PROXY, process.env.no_proxy]))'
test('command of exec and explore: calls the server without a proxy', async () => {
  const env = { HTTP_PROXY: address, NO_PROXY: 'corp.example' }
  const file = join(cwd, 'print.cjs')
  writeFileSync(file, `require('node:fs').appendFileSync('seen.txt', ${PRINT.slice(21, -1)} + '\\n')`)
  await runCommand(['exec', '--', process.execPath, file], { cwd, env })
  await runCommand(['explore', '--', process.execPath, file], { cwd, env })
  await runCommand(['exec', '--', process.execPath, file], {
    cwd,
    env: { HTTPS_PROXY: address, no_proxy: ' corp.example ' },
  })
  const lines = (await Bun.file(join(cwd, 'seen.txt')).text()).trim().split('\n')
  expect(lines.length).toBeGreaterThanOrEqual(3)
  const all = 'corp.example,localhost,127.0.0.1,127.0.0.0/8,::1,0.0.0.0'
  for (const line of lines) expect(JSON.parse(line)).toEqual([all, all])
})

const OWN = 'localhost,127.0.0.1,127.0.0.0/8,::1,0.0.0.0'
const lists: [string, Record<string, string>, string, string][] = [
  ['no value', {}, OWN, OWN],
  ['both', { NO_PROXY: 'a', no_proxy: 'b,c' }, `a,${OWN}`, `b,c,${OWN}`],
  ['one', { no_proxy: 'b' }, `b,${OWN}`, `b,${OWN}`],
  ['an empty one', { NO_PROXY: '', no_proxy: 'b' }, `b,${OWN}`, `b,${OWN}`],
  [
    'a local host',
    { NO_PROXY: 'LOCALHOST, 127.0.0.1' },
    'LOCALHOST, 127.0.0.1,127.0.0.0/8,::1,0.0.0.0',
    'LOCALHOST, 127.0.0.1,127.0.0.0/8,::1,0.0.0.0',
  ],
  ['everything', { NO_PROXY: '*' }, '*', '*'],
]
test.each(lists)('NO_PROXY: keeps its existing value: %s', (_, environment, upper, lower) => {
  expect(withoutProxy(environment, '127.0.0.1')).toEqual({ NO_PROXY: upper, no_proxy: lower })
})
test('NO_PROXY: names the host that the server listens on', () => {
  expect(withoutProxy({}, '192.168.1.4').NO_PROXY).toBe(`${OWN},192.168.1.4`)
})
test.each(['[::1]', '[fd00::4]'])('NO_PROXY: has %s without the brackets that Python clients fail at', (host) => {
  expect(withoutProxy({}, host).NO_PROXY.split(',')).toContain(host.slice(1, -1))
  expect(withoutProxy({}, host).NO_PROXY).not.toContain('[')
})
