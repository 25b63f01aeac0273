// A launcher that is stopped takes its server along, however it ends: npm, npx, the launcher of the package, exec.
import { afterAll, expect, test } from 'bun:test'
import { chmodSync, cpSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { SCOPE } from '../support/packages.ts'
import { EXECUTABLE, emptyFolder, run } from '../support/server.ts'

const root = join(import.meta.dir, '..', '..')
const folder = emptyFolder()
afterAll(folder.remove)
const cwd = folder.path
mkdirSync(join(cwd, 'node_modules', '.bin'), { recursive: true })
cpSync(join(root, 'packages', 'cli'), join(cwd, 'node_modules', SCOPE, 'cli'), { recursive: true })
chmodSync(join(cwd, 'node_modules', SCOPE, 'cli', 'bin', 'understudy.mjs'), 0o755)
symlinkSync(`../${SCOPE}/cli/bin/understudy.mjs`, join(cwd, 'node_modules', '.bin', 'understudy'))
const SERVE = 'understudy serve --port 0 --db :memory:'
const scripts = { serve: SERVE, more: `${SERVE}; true`, nested: 'npm run more --' }
writeFileSync(join(cwd, 'package.json'), JSON.stringify({ name: 'project', private: true, scripts }))

const serve = ['serve', '--port', '0', '--db', ':memory:']
const launcher = join(root, 'packages', 'cli', 'bin', 'understudy.mjs')
const starters: [string, string[]][] = [
  ['npm run', ['npm', 'run', 'serve', '--']],
  ['npm run, with a shell that waits', ['npm', 'run', 'more', '--']],
  ['npx', ['npx', '--no-install', ...SERVE.split(' ')]],
  ['the launcher', ['node', launcher, ...serve]],
]
const SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGKILL'] as const
const posix = test.skipIf(process.platform === 'win32')

let count = 0
/** Starts a command in a group of its own; `file` is where it says that it is ready. */
async function start(command: readonly string[], env: Record<string, string> = {}) {
  const file = join(cwd, `ready-${++count}.json`)
  const child = Bun.spawn([...command], {
    cwd,
    env: {
      ...{ PATH: process.env.PATH ?? '', HOME: cwd, UNDERSTUDY_BIN: EXECUTABLE, UNDERSTUDY_READY_FILE: file },
      ...{ npm_config_update_notifier: 'false', ...env },
    },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'inherit',
    detached: true,
  })
  const reader = child.stdout.getReader()
  while (!existsSync(file)) if ((await reader.read()).done) throw new Error('it ended before it was ready')
  const { url, pid } = JSON.parse(readFileSync(file, 'utf8')) as { url: string; pid: number }
  // Its end of the pipe is closed when the last of them is gone.
  const gone = async () => {
    while (!(await reader.read()).done);
  }
  return { child, url, pid, gone }
}

for (const [name, command] of starters) {
  posix.each([...SIGNALS])(`${name}: %s ends the server`, async (signal) => {
    const { child, url, gone } = await start(command)
    expect((await fetch(`${url}/_understudy/health`)).status).toBe(200)
    // The shell of npm waits for its command when it alone is interrupted, as no Ctrl-C does.
    process.kill(signal === 'SIGINT' ? -child.pid : child.pid, signal)
    await gone()
    expect(fetch(`${url}/_understudy/health`)).rejects.toThrow()
    await child.exited
  })
}

posix('server without a package manager: outlives the shell that started it', async () => {
  // `wait` is the shell's own: a program in its place would be left behind, with our end of the pipe open.
  const { child, url, pid, gone } = await start(['sh', '-c', `node '${launcher}' ${serve.join(' ')} & wait`])
  child.kill('SIGKILL')
  await child.exited
  // Longer than what a launcher of npm takes to see it.
  await Bun.sleep(1_200)
  expect((await fetch(`${url}/_understudy/health`)).status).toBe(200)
  process.kill(pid, 'SIGTERM')
  await gone()
})

posix.each(['SIGTERM', 'SIGKILL'] as const)('exec: ends its command when its launcher gets %s', async (signal) => {
  const file = join(cwd, `pid-${++count}`)
  const command = `echo $$ > '${file}.tmp'; mv '${file}.tmp' '${file}'; exec sleep 600`
  const child = Bun.spawn(['node', launcher, 'exec', '--', 'sh', '-c', command], {
    cwd,
    env: { PATH: process.env.PATH ?? '', UNDERSTUDY_BIN: EXECUTABLE },
    stdout: 'pipe',
    stderr: 'inherit',
  })
  while (!existsSync(file)) await Bun.sleep(20)
  child.kill(signal)
  // The command has it open, too.
  expect(await new Response(child.stdout).text()).toContain('(stopped early)')
})

posix('exec: ends its command when it is killed itself', async () => {
  const file = join(cwd, `pid-${++count}`)
  // An answer of the server shows that exec is past the start of its command.
  const command = `await fetch(process.env.OPENAI_BASE_URL + '/models'); require('node:fs').writeFileSync('${file}', ''); setTimeout(() => {}, 600_000)`
  const child = Bun.spawn([EXECUTABLE, 'exec', '--', process.execPath, '-e', command], {
    cwd,
    env: { PATH: process.env.PATH ?? '' },
    stdout: 'pipe',
    stderr: 'inherit',
  })
  while (!existsSync(file)) await Bun.sleep(20)
  child.kill('SIGKILL')
  expect(await new Response(child.stdout).text()).toBe('')
})

test('UNDERSTUDY_PARENT: is rejected when it is not a process id', async () => {
  const { code, stderr } = await run(['serve', '--port', '0'], { env: { UNDERSTUDY_PARENT: 'npm' } })
  expect([code, stderr]).toEqual([
    2,
    'understudy: UNDERSTUDY_PARENT must be the process id of the parent process, got "npm"\n',
  ])
})
