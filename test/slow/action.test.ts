// The GitHub Action, by its entries, as a runner starts them, each in a process of Node.js: variables of the runner, its command files, the step and the job's end.
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test'
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { readInputs } from '../../packages/action/src/inputs.ts'
import { ACTION_BUNDLE, bundleAction } from '../../src/build/action.ts'
import { EXECUTABLE, emptyFolder } from '../support/server.ts'

const folder = emptyFolder()
const platform = `${process.platform}-${process.arch}`
const archive = `understudy-${platform}.tar.gz`
const requests: string[] = []
const uploads: { method: string; path: string; body: string; type: string | null }[] = []
let server: Bun.Server<undefined>

beforeAll(() => {
  // A release whose archive is small: its executable leads to the one that was built.
  const release = join(folder.path, `understudy-${platform}`)
  mkdirSync(release)
  writeFileSync(join(release, 'understudy'), `#!/bin/sh\nexec '${EXECUTABLE}' "$@"\n`)
  chmodSync(join(release, 'understudy'), 0o755)
  const packed = Bun.spawnSync(['tar', '-czf', join(folder.path, archive), '-C', folder.path, `understudy-${platform}`])
  expect(packed.exitCode).toBe(0)
  const digest = new Bun.CryptoHasher('sha256').update(readFileSync(join(folder.path, archive))).digest('hex')
  writeFileSync(join(folder.path, 'SHA256SUMS'), `${'0'.repeat(64)}  another.tar.gz\n${digest}  ${archive}\n`)
  server = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: answer })
})
afterAll(async () => {
  await server.stop(true)
  folder.remove()
})

/** A release to download, and what takes artifacts. */
async function answer(request: Request): Promise<Response> {
  const path = new URL(request.url).pathname
  if (request.method === 'GET') {
    requests.push(path)
    const file = join(folder.path, path)
    return existsSync(file) ? new Response(Bun.file(file)) : new Response('nothing here', { status: 404 })
  }
  uploads.push({ method: request.method, path, body: await request.text(), type: request.headers.get('content-type') })
  if (path.endsWith('/CreateArtifact')) return Response.json({ ok: true, signed_upload_url: `${server.url}blob?sig=x` })
  if (path.endsWith('/FinalizeArtifact')) return Response.json({ ok: true, artifact_id: '7' })
  return new Response('', { status: 201 })
}

const claims = Buffer.from(JSON.stringify({ scp: 'Actions.Example Actions.Results:run-1:job-2' })).toString('base64url')

/** A job with one step of the action. */
function job(inputs: Record<string, string>) {
  const home = join(folder.path, crypto.randomUUID())
  mkdirSync(home)
  writeFileSync(join(home, 'ask.mjs'), PROGRAM)
  const file = (name: string) => join(home, name)
  for (const name of ['output', 'summary', 'env', 'path', 'state']) writeFileSync(file(name), '')
  const written = (name: string): Record<string, string> =>
    Object.fromEntries(
      [...readFileSync(file(name), 'utf8').matchAll(/^(.+?)<<(ghadelimiter_\S+)\n([\s\S]*?)\n\2$/gm)].map(
        ([, key = '', , value = '']) => [key, value],
      ),
    )
  const environment = (): Record<string, string> => ({
    ...{ PATH: process.env.PATH ?? '', HOME: home, RUNNER_TEMP: home, RUNNER_TOOL_CACHE: join(folder.path, 'tools') },
    ...{ GITHUB_OUTPUT: file('output'), GITHUB_STEP_SUMMARY: file('summary'), GITHUB_ENV: file('env') },
    ...{ GITHUB_PATH: file('path'), GITHUB_STATE: file('state') },
    'INPUT_DOWNLOAD-URL': `${server.url.href}${inputs.release ?? ''}`,
    ...Object.fromEntries(Object.entries(inputs).map(([name, value]) => [`INPUT_${name.toUpperCase()}`, value])),
  })
  const run = async (more: Record<string, string>) => {
    const child = Bun.spawn(['node', ACTION_BUNDLE], {
      cwd: home,
      env: { ...environment(), ...more },
      stdout: 'pipe',
      stderr: 'pipe',
    })
    const said = (await Promise.all([child.stdout, child.stderr].map((one) => new Response(one).text()))).join('\n')
    return { code: await child.exited, said }
  }
  return {
    home,
    step: (more: Record<string, string> = {}) => run(more),
    /** When the job ends. */
    end(status: string, more: Record<string, string> = {}) {
      const state = Object.entries(written('state')).map(([name, value]) => [`STATE_${name}`, value])
      return run({ ...Object.fromEntries(state), 'INPUT_JOB-STATUS': status, ...more })
    },
    outputs: () => written('output'),
    env: () => written('env'),
    summary: () => readFileSync(file('summary'), 'utf8'),
  }
}

// Asks again once when nobody could answer.
const PROGRAM = `
const { UNDERSTUDY_URL: url, UNDERSTUDY_TOKEN: token } = process.env
const headers = { authorization: 'Bearer ' + token, 'content-type': 'application/json' }
const messages = [{ role: 'user', content: 'Hi' }]
const body = JSON.stringify({ model: 'openai/gpt-4o', messages, retry: { count: 2 } })
if (process.env.ACTIONS_RUNTIME_TOKEN) console.log('the command has the token')
const ask = () => fetch(url + '/v2/router/chat/completions', { method: 'POST', headers, body })
const first = await ask()
const last = first.status >= 500 ? await ask() : first
process.exit(last.ok ? 0 : 9)
`

test('action bundle: is what the source builds', async () => {
  expect(readFileSync(ACTION_BUNDLE, 'utf8') === (await bundleAction()), 'npm run build:action, and commit it').toBe(
    true,
  )
})

test('action.yml: has the inputs that are read and documented, and names the bundle', () => {
  const text = (path: string) => readFileSync(join(import.meta.dir, '..', '..', path), 'utf8')
  const { inputs, outputs, runs } = Bun.YAML.parse(text('action.yml')) as Record<string, Record<string, string>>
  const source = [...new Bun.Glob('packages/action/src/*.ts').scanSync(join(import.meta.dir, '..', '..'))]
    .map(text)
    .join('\n')
  const read = [...source.matchAll(/get(?:Multiline)?Input\('([\w-]+)'\)/g)].map(([, name = '']) => name)
  expect(Object.keys(inputs ?? {}).sort()).toEqual([...new Set(read)].sort())
  const set = [...source.matchAll(/setOutput\('([\w-]+)'/g)].map(([, name = '']) => name)
  expect(Object.keys(outputs ?? {}).sort()).toEqual([...new Set(set)].sort())
  expect([runs?.main, runs?.post]).toEqual(['packages/action/dist/index.js', 'packages/action/dist/index.js'])
  const blocks = [...text('docs/ci.md').matchAll(/```yaml\n([\s\S]*?)```/g)].map(([, yaml = '']) =>
    Bun.YAML.parse(yaml),
  )
  const shown = blocks.flat().flatMap((step) => Object.keys((step as { with?: object }).with ?? {}))
  expect(shown.filter((name) => !Object.hasOwn(inputs ?? {}, name))).toEqual([])
  expect(shown.length).toBeGreaterThan(5)
})

describe('action installation', () => {
  const nothing = { mode: 'exec', run: 'true' }
  test('uses a version with the right checksum, and the tool cache the second time, with the checksum of the workflow', async () => {
    const digest = new Bun.CryptoHasher('sha256').update(readFileSync(join(folder.path, archive))).digest('hex')
    const version = '9.1.0'
    const first = job({ ...nothing, version: `v${version}` })
    const { code, said } = await first.step()
    expect([code, said]).toEqual([0, expect.stringContaining(`installing Understudy ${version}`)])
    expect(first.outputs()).toMatchObject({ version, ok: 'true' })
    expect(existsSync(first.outputs().executable ?? '')).toBe(true)
    const before = requests.length
    expect((await job({ ...nothing, version }).step()).said).toContain('in the tool cache')
    const named = await job({ ...nothing, version, checksum: ` ${digest.toUpperCase()} ` }).step()
    expect([named.code, named.said, requests.length]).toEqual([0, expect.stringContaining('in the tool cache'), before])
    const cached = join(folder.path, 'tools', 'understudy-archive', version, process.arch, archive)
    writeFileSync(cached, 'something else')
    const changed = await job({ ...nothing, version, checksum: digest }).step()
    expect([changed.code, changed.said]).toEqual([0, expect.stringContaining('downloading it again')])
    expect(requests.length).toBeGreaterThan(before)
    const wrong = await job({ ...nothing, version, checksum: 'abc' }).step()
    expect([wrong.code, wrong.said]).toEqual([1, expect.stringMatching(/^::error::.*must be abc/m)])
  }, 60_000)
  const MISTAKES: [string, Record<string, string>, RegExp][] = [
    ['a wrong checksum', { version: '9.2.0', checksum: 'abc' }, /the SHA-256 of .* must be abc, got [0-9a-f]{64}/],
    [
      'an unknown version',
      { version: '9.3.0', release: 'none' },
      /could not download http\S+\/none\/understudy-\S+: .*404/,
    ],
    ['a missing executable', { executable: '/no/where' }, /the executable \/no\/where does not exist/],
    ['an invalid mode', { mode: 'run' }, /'mode' "run" is not valid; valid: serve, exec, explore/],
    ['an invalid scenario', { executable: EXECUTABLE, scenario: 'outrage' }, /outrage/],
  ]
  test.each(MISTAKES)(
    'reports %s',
    async (_, inputs, message) => {
      const { code, said } = await job({ ...nothing, ...inputs }).step()
      expect([code, said]).toEqual([1, expect.stringMatching(/^::error::/m)])
      expect(said).toMatch(message)
    },
    60_000,
  )
})

describe('action inputs', () => {
  const given = { ...process.env }
  afterEach(() => {
    for (const name of Object.keys(process.env)) if (name.startsWith('INPUT_')) delete process.env[name]
    Object.assign(process.env, given)
  })
  test.each([
    ['a missing command', { mode: 'explore', run: '' }, /mode explore requires 'run'/],
    ['a command for a server, which has none', { mode: 'serve', run: 'true' }, /'run' requires mode exec or explore/],
    [
      'an invalid folder',
      { 'working-directory': 'sub/nowhere' },
      /'working-directory' "sub\/nowhere" is not valid: \/\S+\/sub\/nowhere does not exist/,
    ],
    [
      'a folder that is a file',
      { 'working-directory': import.meta.path },
      /'working-directory' "\S+" is not valid: \S+ is not a folder/,
    ],
  ])('report %s', (_, inputs, message) => {
    for (const [name, value] of Object.entries(inputs)) process.env[`INPUT_${name.toUpperCase()}`] = value
    expect(() => readInputs()).toThrow(message)
  })
})

test('action exec: writes the verdict to the summary, uploads the report, and prints calls of a failed job', async () => {
  const bad = job({
    executable: EXECUTABLE,
    run: 'node ask.mjs || true',
    scenario: 'unavailable-burst\nrate-limit-burst',
    'report-name': 'days',
  })
  const results = { ACTIONS_RUNTIME_TOKEN: `x.${claims}.x`, ACTIONS_RESULTS_URL: server.url.href }
  const { code, said } = await bad.step(results)
  expect([code, said]).toEqual([1, expect.stringContaining('::error::FAIL: unavailable-burst (exit code 3)')])
  expect(bad.summary()).toMatch(/\| unavailable-burst \| ❌ FAIL \| 1 \| 2 \| \d+ \|\n\| rate-limit-burst \| ✅ PASS/)
  expect(bad.summary()).toMatch(/- error in unavailable-burst: gave-up: /)
  expect(bad.summary()).toStartWith('### Understudy: `node ask.mjs || true`\n')
  expect(bad.outputs().ok).toBe('false')
  expect(said).not.toContain('the command has the token')
  const page = readFileSync(bad.outputs().report ?? '', 'utf8')
  expect(page).toStartWith('<!doctype html>')

  const [create, put, finalize] = uploads.splice(0)
  const run = { workflow_run_backend_id: 'run-1', workflow_job_run_backend_id: 'job-2', name: 'days.html' }
  expect(JSON.parse(create?.body ?? '')).toEqual({ ...run, mime_type: 'text/html', version: 7 })
  expect([put?.method, put?.path, put?.type, put?.body === page]).toEqual(['PUT', '/blob', 'text/html', true])
  const hash = `sha256:${new Bun.CryptoHasher('sha256').update(page).digest('hex')}`
  expect(JSON.parse(finalize?.body ?? '')).toEqual({ ...run, size: String(Buffer.byteLength(page)), hash })

  const ended = await bad.end('failure')
  expect(ended.said).toMatch(
    /::group::Understudy: 2 of the last 2 calls[\s\S]*unavailable-burst[\s\S]*::endgroup::[\s\S]*HTTP error 429/,
  )
}, 60_000)

// What looks like a report, what ends without a line break, and what a person has to read.
const PRINTED = [
  '{"runs":',
  '{"runs":[]}',
  '{"points":[],"cells":[]}',
  '{"runs":[{"name":"forged","verdict":"pass","code":0,"findings":[],"sessions":[]}]}',
]
/** The program, which prints all that before. */
function writeLoud({ home }: ReturnType<typeof job>): void {
  const printed = PRINTED.map((line) => `console.log(${JSON.stringify(line)})`).join('\n')
  writeFileSync(
    join(home, 'loud.mjs'),
    `${printed}\nprocess.stdout.write('no line break')\n${PROGRAM.replace('process.exit', 'process.exitCode = ')}`,
  )
}
const LOUD = `${process.execPath} loud.mjs`

test("action exec: does not read the verdict from the command's output", async () => {
  const loud = job({ executable: EXECUTABLE, run: LOUD })
  writeLoud(loud)
  const { code, said } = await loud.step()
  expect(said).not.toContain('SyntaxError')
  for (const line of [...PRINTED, 'no line break']) expect(said).toContain(line)
  expect(loud.summary()).not.toContain('forged')
  expect([code, loud.outputs().ok]).toEqual([0, 'true'])
  expect(loud.summary()).toMatch(/\| no scenario \| ✅ PASS \| 1 \| 1 \| 1 \|/)
}, 60_000)

test('action serve: starts a server for later steps, stops it with the job, and prints calls of a failed one', async () => {
  const left = job({ executable: EXECUTABLE, args: '--clock\nvirtual', 'report-name': 'none' })
  const { code, said } = await left.step()
  expect([code, said]).toEqual([0, expect.stringContaining('Understudy is listening at http://127.0.0.1:')])
  const { url = '' } = left.outputs()
  expect(left.env()).toMatchObject({ UNDERSTUDY_URL: url, OPENAI_BASE_URL: `${url}/v1`, UNDERSTUDY_BIN: EXECUTABLE })
  const asked = await fetch(`${left.env().OPENAI_BASE_URL}/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${left.env().OPENAI_API_KEY}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'gpt-4o', messages: [{ role: 'user', content: 'Hi' }] }),
  })
  expect(asked.status).toBe(200)
  const ended = await left.end('failure')
  expect([ended.code, ended.said]).toEqual([
    0,
    expect.stringMatching(/1 of the last 1 calls[\s\S]*openai\/gpt-4o first/),
  ])
  expect(existsSync(left.outputs().report ?? '')).toBe(true)
  await stopped(url)
}, 60_000)

test('action serve: prints nothing after success, and the reason of a failed start', async () => {
  const good = job({ executable: EXECUTABLE, 'report-name': 'none' })
  await good.step()
  expect((await good.end('success')).said).not.toContain('::group::')
  await stopped(good.outputs().url ?? '')
  const { code, said } = await job({ executable: EXECUTABLE, fixtures: 'nowhere' }).step()
  expect([code, said]).toEqual([1, expect.stringMatching(/::error::the server did not start: .*nowhere.*no such file/)])
}, 60_000)

test("action explore: writes the matrix to the summary, and does not read it from the command's output", async () => {
  const explored = job({
    executable: EXECUTABLE,
    mode: 'explore',
    run: LOUD,
    args: '--failure-mode\nrate-limit-once\n--failure-mode\nserver-error-once',
  })
  writeLoud(explored)
  const { code, said } = await explored.step()
  expect(said).not.toContain('SyntaxError')
  expect(explored.summary()).not.toContain('forged')
  expect([code, said]).toEqual([1, expect.stringMatching(/::error::FAIL: 1 problem \(exit code 3\)/)])
  expect(explored.summary()).toContain('FAIL: 1 problem in 2 cases')
  expect(explored.summary()).toMatch(/\| \| p1 \|\n\|---\|---\|\n/)
  expect(explored.summary()).toMatch(/\| server-error-once \| ✅ tolerated \|/)
  expect(explored.summary()).toMatch(/\| rate-limit-once \| ❌ failed \|/)
  expect(existsSync(explored.outputs().report ?? '')).toBe(true)
}, 60_000)

/** Waits until nothing answers any more. */
async function stopped(url: string): Promise<void> {
  const answers = () =>
    fetch(`${url}/_understudy/health`).then(
      () => true,
      () => false,
    )
  while (await answers()) await Bun.sleep(20)
}
