// docs/telemetry.md is true: its example exports, and its variables, names and metrics exist.
import { afterAll, afterEach, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { readConfig } from '../../src/config.ts'
import { CORE, EVENTS, GEN_AI, OWN, REQUEST_PARAMETERS } from '../../src/telemetry/conventions.ts'
import { testApps } from '../support/app.ts'
import { EXECUTABLE, emptyFolder, environment } from '../support/server.ts'

const page = readFileSync(join(import.meta.dir, '..', '..', 'docs', 'telemetry.md'), 'utf8')
const { appWith, close } = testApps()
const folder = emptyFolder()
const ends: (() => void)[] = []
afterEach(() => {
  for (const end of ends.splice(0)) end()
})
afterAll(() => {
  close()
  folder.remove()
})

/** The command of the page against a collector of the test; resolves when it listens. */
async function exported(answer: () => Response | Promise<Response>) {
  const bodies: { path: string; text: string }[] = []
  const first = Promise.withResolvers<void>()
  const collector = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    idleTimeout: 0,
    async fetch(request) {
      bodies.push({ path: new URL(request.url).pathname, text: await request.text() })
      first.resolve()
      return answer()
    },
  })
  const [, command = ''] = /```sh\n(understudy serve --otlp .*)\n```/.exec(page) ?? []
  const address = `http://127.0.0.1:${collector.port}`
  const args = command.replace('http://localhost:4318', address).split(' ').slice(1)
  const child = Bun.spawn([EXECUTABLE, ...args, '--port', '0', '--json', '--db', ':memory:'], {
    cwd: folder.path,
    env: environment(),
    stdout: 'pipe',
    stderr: 'pipe',
  })
  ends.push(
    () => child.kill('SIGKILL'),
    () => void collector.stop(true),
  )
  const { value } = await child.stdout.getReader().read()
  const { url } = JSON.parse(new TextDecoder().decode(value)) as { url: string }
  const response = await fetch(`${url}/v2/router/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: 'Bearer any' },
    body: JSON.stringify({ model: 'openai/gpt-4o', messages: [{ role: 'user', content: 'Hello' }] }),
  })
  expect(response.status).toBe(200)
  return { child, bodies, first: first.promise, address }
}

test('docs/telemetry.md command: exports a trace of each call, at the latest when it is stopped', async () => {
  const { child, bodies } = await exported(() => Response.json({}))
  child.kill('SIGTERM')
  expect(await child.exited).toBe(0)
  expect(bodies.map(({ path }) => path)).toEqual(['/v1/traces'])
  const named = [...page.matchAll(/^\| `(POST \S+|chat \S+)` \|/gm)].map(([, name]) => `"name":"${name}"`)
  expect(named).toHaveLength(2)
  for (const name of named) expect(bodies[0]?.text).toContain(name)
})

test('docs/telemetry.md command: is not blocked by a hanging collector and reports the loss', async () => {
  const { child, first, address } = await exported(() => new Promise<Response>(() => {}))
  // It may be at it already or begin when it is told to end.
  child.kill('SIGTERM')
  await first
  expect(await child.exited).toBe(0)
  const said = await new Response(child.stderr).text()
  expect(said).toContain(`${address}/v1/traces has not taken the last 2 spans`)
})

test('docs/telemetry.md: lists the variables that are read', () => {
  const asked = new Set<string>()
  const environment = new Proxy({} as Record<string, string>, {
    get: (_, name) => void (typeof name === 'string' && name.startsWith('OTEL_') && asked.add(name)),
  })
  readConfig({ otlp: 'env' }, environment)
  const named = [...page.matchAll(/`(OTEL_[A-Z_[\]]+)`/g)].flatMap(([, name = '']) => [
    name.replace('[TRACES_]', ''),
    name.replace('[TRACES_]', 'TRACES_'),
  ])
  expect([...new Set(named)].toSorted()).toEqual([...asked].toSorted())
})

test('docs/telemetry.md: names exported attributes and events', () => {
  const known = [CORE, GEN_AI, OWN, EVENTS].flatMap((names) => Object.values<string>(names))
  known.push(...REQUEST_PARAMETERS.map(({ name }) => name))
  const named = [...page.matchAll(/`((?:understudy|gen_ai|http|url|server)\.[a-z_.]+)`/g)].map(([, name = '']) => name)
  expect(named.length).toBeGreaterThan(3)
  expect(named.filter((name) => !['understudy.', 'understudy.yaml'].includes(name) && !known.includes(name))).toEqual(
    [],
  )
})

test('docs/telemetry.md: shows Prometheus settings that find the metrics', async () => {
  const [, settings = ''] = /```yaml\n(# prometheus.yml[\s\S]*?)```/.exec(page) ?? []
  const { scrape_configs } = Bun.YAML.parse(settings) as { scrape_configs: { metrics_path: string }[] }
  const telemetry = readConfig({ otlp: 'http://127.0.0.1:9' }, {}).telemetry
  const app = appWith({ telemetry })
  const answer = await app.fetch(scrape_configs[0]?.metrics_path ?? '')
  await app.understudy.telemetry?.stop(0)
  const served = [...answer.text.matchAll(/^# TYPE (\w+)/gm)].map(([, name]) => name)
  const reference = readFileSync(join(import.meta.dir, '..', '..', 'docs', 'reference', 'metrics.md'), 'utf8')
  const named = [...reference.matchAll(/`(understudy_[a-z_]+)`/g)].map(([, name]) => name)
  expect(named.length).toBeGreaterThan(3)
  expect(named.filter((name) => !served.includes(name))).toEqual([])
})

test('docs/telemetry.md: names existing fields of health', async () => {
  const telemetry = readConfig({ otlp: 'http://127.0.0.1:9' }, {}).telemetry
  const app = appWith({ telemetry })
  const health = (await app.fetch('/_understudy/health')).json() as { telemetry: object }
  await app.understudy.telemetry?.stop(0)
  for (const field of ['problem', 'exported', 'dropped']) {
    expect(page).toContain(`\`${field}\``)
    expect(health.telemetry).toHaveProperty(field)
  }
})
