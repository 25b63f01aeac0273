// Uses the executable on this system as a user would, for what differs between systems: `npm run check:platform`. It prints a line for
// each check, and ends with 1 when one fails. docs/platforms.md lists where it was not run.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { executableOf, ownPlatform } from '../src/build/platforms.ts'
import { VERSION } from '../src/version.ts'

const root = join(import.meta.dir, '..')
const executable = join(root, 'dist', executableOf(ownPlatform))
const isWindows = process.platform === 'win32'
const folder = mkdtempSync(join(tmpdir(), 'understudy-check-'))
const PATIENCE_MS = 30_000

/** Fails a check. */
function must(condition: boolean, message: string): void {
  if (!condition) throw new Error(message)
}

function start(args: string[], env: Record<string, string> = {}) {
  return Bun.spawn([executable, ...args], {
    cwd: folder,
    env: { ...process.env, ...env },
    stdout: 'pipe',
    stderr: 'ignore',
    stdin: 'ignore',
  })
}

/** A server on a free port; `url` is where it listens. */
async function serve(args: string[] = [], env: Record<string, string> = {}) {
  const server = start(['serve', '--port', '0', '--json', ...args], env)
  const reader = server.stdout.getReader()
  const { value } = await reader.read()
  const { url } = JSON.parse(new TextDecoder().decode(value).split('\n')[0] ?? '') as { url: string }
  return { server, url }
}

const ask = (url: string, extra: object = {}) =>
  fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: 'Bearer any', 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'gpt-4o', messages: [{ role: 'user', content: 'Hello' }], ...extra }),
  })

const put = (url: string, body: unknown) =>
  fetch(url, {
    method: 'PUT',
    headers: { authorization: 'Bearer any', 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })

/** Waits until a condition holds; fails after a time. */
async function until(condition: () => Promise<boolean> | boolean, message: string): Promise<void> {
  const end = performance.now() + PATIENCE_MS
  while (!(await condition())) {
    must(performance.now() < end, message)
    await Bun.sleep(50)
  }
}

const isRunning = (pid: number) => {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

/** Sends a call over a bare socket; resolves with how the connection ended. */
function endOfCall(url: string): Promise<{ received: string; error: string | undefined }> {
  const { hostname, port } = new URL(url)
  return new Promise((resolve) => {
    let received = ''
    let error: string | undefined
    const socket = connect(Number(port), hostname, () => {
      const body = JSON.stringify({ model: 'gpt-4o', messages: [{ role: 'user', content: 'Hello' }] })
      socket.write(
        `POST /v1/chat/completions HTTP/1.1\r\nHost: ${hostname}\r\nAuthorization: Bearer any\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
      )
    })
    socket.on('data', (bytes) => (received += bytes))
    socket.on('error', ({ code }: NodeJS.ErrnoException) => (error = code))
    socket.on('close', () => resolve({ received, error }))
  })
}

const checks: Record<string, () => Promise<void> | void> = {
  async 'starts and prints its version'() {
    const { version, build } = JSON.parse(await new Response(start(['--version', '--json']).stdout).text())
    must(version === VERSION, `the version is ${version}, not ${VERSION}`)
    must(build.platform === ownPlatform, `the platform is ${build.platform}, not ${ownPlatform}`)
  },
  'has a signature that the system accepts'() {
    if (process.platform !== 'darwin') return
    const { exitCode, stderr } = Bun.spawnSync(['codesign', '--verify', '--verbose', executable])
    // Programs for Intel have none, which that system accepts.
    must(exitCode === 0 || stderr.toString().includes('not signed at all'), stderr.toString())
  },
  async 'answers a call and a stream, and keeps both in its database file'() {
    const { server, url } = await serve(['--db', join(folder, 'a.db')])
    must((await ask(url)).status === 200, 'a call failed')
    must((await (await ask(url, { stream: true })).text()).endsWith('data: [DONE]\n\n'), 'a stream did not end')
    server.kill()
    await server.exited
    const listed = await new Response(start(['trace', 'list', '--json', '--db', join(folder, 'a.db')]).stdout).text()
    must(listed.split('"gpt-4o"').length > 2 || listed.includes('openai/gpt-4o'), `the traces are missing: ${listed}`)
  },
  async 'stops when it is asked to'() {
    const { server } = await serve(['--db', ':memory:'])
    server.kill('SIGTERM')
    const code = await server.exited
    // Windows ends a process without asking it.
    must(isWindows || code === 0, `the exit code is ${code}`)
  },
  async 'breaks connections as faults say'() {
    const { server, url } = await serve(['--db', ':memory:'])
    for (const type of ['reset', 'empty-reply']) {
      await put(`${url}/_understudy/scenario`, { name: type, rules: [{ name: type, fault: { type } }] })
      const { received, error } = await endOfCall(url)
      const expected = type === 'reset' || isWindows ? 'ECONNRESET' : undefined
      must(received === '' && error === expected, `${type}: received ${JSON.stringify(received)}, error ${error}`)
    }
    server.kill()
    await server.exited
  },
  async 'reads fixtures again when they change'() {
    const file = join(folder, 'hello.yaml')
    const write = (text: string) =>
      writeFileSync(file, `match: { operation: chat.completions }\nreply: { content: ${text} }\n`)
    write('before')
    const { server, url } = await serve(['--db', ':memory:', '--fixtures', file])
    must((await (await ask(url)).text()).includes('before'), 'the fixture was not used')
    write('afterwards')
    await until(async () => (await (await ask(url)).text()).includes('afterwards'), 'the change was not noticed')
    server.kill()
    await server.exited
  },
  async 'ends a command with everything that it started'() {
    const script = join(folder, 'family.mjs')
    writeFileSync(
      script,
      `import { spawn } from 'node:child_process'; import { writeFileSync } from 'node:fs'
const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'])
writeFileSync('pids', process.pid + ' ' + child.pid); setInterval(() => {}, 1000)`,
    )
    const run = start(['exec', '--timeout', '3s', '--', 'node', script])
    must((await run.exited) === 124, `the exit code is ${run.exitCode}`)
    const pids = readFileSync(join(folder, 'pids'), 'utf8').split(' ').map(Number)
    await until(() => !pids.some(isRunning), `some of ${pids} are still running`)
  },
  async 'ends with the program that started it'() {
    const parent = Bun.spawn(['node', '-e', 'setInterval(() => {}, 1000)'])
    const { server } = await serve(['--db', ':memory:'], {
      UNDERSTUDY_PARENT: String(isWindows ? parent.pid : process.pid),
    })
    must(server.exitCode === null, 'it ended before its parent')
    parent.kill('SIGKILL')
    await parent.exited
    if (!isWindows) server.kill()
    await until(() => server.exitCode !== null || server.signalCode !== null, 'it outlived its parent')
  },
}

let failed = 0
for (const [name, check] of Object.entries(checks)) {
  try {
    await check()
    console.log(`ok      ${name}`)
  } catch (error) {
    failed++
    console.log(`FAILED  ${name}: ${error instanceof Error ? error.message : error}`)
  }
}
rmSync(folder, { recursive: true, force: true })
console.log(`${Object.keys(checks).length - failed} passed, ${failed} failed on ${ownPlatform}`)
process.exit(failed === 0 ? 0 : 1)
