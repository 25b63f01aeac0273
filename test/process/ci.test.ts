// .ci/run: its last line counts the tests of the runner's own report, and it fails when one failed or none ran.
import { afterAll, expect, test } from 'bun:test'
import { chmodSync, existsSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { folderWith } from '../support/fixtures.ts'

const script = join(import.meta.dir, '..', '..', '.ci', 'run')
const PASSES = "import { test } from 'bun:test'\ntest('a', () => {})\ntest('b', () => {})\n"
const FAILS = `${PASSES}test('c', () => { throw new Error('no') })\n`
// Fails the first time that it runs.
const ONCE = `import { existsSync, writeFileSync } from 'node:fs'
import { test } from 'bun:test'
test('d', () => {
  const ran = import.meta.dir + '/ran'
  if (existsSync(ran)) return
  writeFileSync(ran, '')
  throw new Error('busy')
})
`
const folder = folderWith({
  'once/one.test.ts': PASSES,
  'once/two.test.ts': ONCE,
  'passes/some.test.ts': PASSES,
  'mixed/one.test.ts': PASSES,
  'mixed/two.test.ts': FAILS,
  'broken/one.test.ts': `${PASSES}throw new Error('while loading')\n`,
  'nothing/README.md': 'No test here.',
  // Stands in for npm: it hands its arguments to the real test runner in the folder that the test names.
  'bin/npm': `#!/bin/sh\n[ "$1" = test ] || exit 9\nshift 2\n[ -n "$STOP" ] && exit "$STOP"\ncd "$TESTS" && exec "${process.execPath}" test "$@"\n`,
  'bin/chromium': '#!/bin/sh\n',
})
for (const name of ['npm', 'chromium']) chmodSync(join(folder.path, 'bin', name), 0o755)
afterAll(folder.remove)

async function ci(tests: string, env: Record<string, string> = {}) {
  const child = Bun.spawn(['bash', script], {
    env: { PATH: `${join(folder.path, 'bin')}:${process.env.PATH}`, TESTS: join(folder.path, tests), ...env },
    stdout: 'pipe',
    stderr: 'ignore',
  })
  const lines = (await new Response(child.stdout).text()).trimEnd().split('\n')
  return { code: await child.exited, last: lines.at(-1), said: lines }
}

test('all pass', async () => {
  expect(await ci('passes')).toMatchObject({ code: 0, last: '2 passed, 0 failed' })
})
test('one of two files has a failure', async () => {
  expect(await ci('mixed')).toMatchObject({ code: 1, last: '4 passed, 1 failed' })
})
test('a test that would pass when run again has failed', async () => {
  expect(await ci('once')).toMatchObject({ code: 1, last: '2 passed, 1 failed' })
})
test('a file that cannot be loaded is a failure', async () => {
  const { code, last } = await ci('broken')
  expect(code).toBe(1)
  expect(last).toMatch(/^\d+ passed, [1-9]\d* failed$/)
})
test('no test at all is a failure', async () => {
  const { code, last, said } = await ci('nothing')
  expect(code).not.toBe(0)
  expect(last).toBe('0 passed, 1 failed')
  expect(said).toContain('no test ran')
})
test('so is a check that fails before the tests', async () => {
  const { code, last, said } = await ci('passes', { STOP: '2' })
  expect(code).toBe(1)
  expect(last).toBe('0 passed, 1 failed')
  expect(said).toContain('no test ran')
})
test('and a runner that ends well without having run a test', async () => {
  expect(await ci('passes', { STOP: '00' })).toMatchObject({ code: 1, last: '0 passed, 1 failed' })
})

/** The script where this machine has no chromium, and an apt-get that notes what it is asked for. */
async function ciWithout(env: Record<string, string>) {
  const tools = folderWith({
    'bin/npm': '#!/bin/sh\nexit 3\n',
    'bin/apt-get': '#!/bin/sh\necho "$@" >> "$ASKED"\n',
    'bin/python3': '#!/bin/sh\n',
    'bin/haproxy': '#!/bin/sh\n',
  })
  const bin = join(tools.path, 'bin')
  for (const name of ['npm', 'apt-get', 'python3', 'haproxy']) chmodSync(join(bin, name), 0o755)
  for (const name of ['bash', 'dirname', 'mktemp', 'sed', 'head', 'rm', 'sh'])
    symlinkSync(Bun.which(name) ?? '', join(bin, name))
  const asked = join(tools.path, 'asked')
  const child = Bun.spawn([Bun.which('bash') ?? 'bash', script], {
    env: { PATH: bin, ASKED: asked, ...env },
    stdout: 'pipe',
    stderr: 'ignore',
  })
  const said = await new Response(child.stdout).text()
  await child.exited
  const packages = existsSync(asked) ? readFileSync(asked, 'utf8') : ''
  tools.remove()
  return { said, packages }
}
test('packages are installed where CI is set', async () => {
  expect((await ciWithout({ CI: 'true' })).packages).toMatch(/^update\ninstall .* chromium\n$/)
})
test.each<Record<string, string>>([{}, { CI: '' }])('and named where it is not: %j', async (env) => {
  const { said, packages } = await ciWithout(env)
  expect([packages, said]).toEqual(['', expect.stringContaining('missing: chromium;')])
})

test('the lockfile has a checksum of every package, on every platform', () => {
  const lock = readFileSync(join(import.meta.dir, '..', '..', 'package-lock.json'), 'utf8')
  const { packages } = JSON.parse(lock) as { packages: Record<string, { integrity?: string; link?: boolean }> }
  const unlocked = Object.entries(packages).filter(([path, { integrity, link }]) => path !== '' && !integrity && !link)
  expect(unlocked.map(([path]) => path)).toEqual([])
  // Optional packages of other systems are among them.
  expect(Object.keys(packages).some((path) => path.includes('win32-x64'))).toBe(true)
})
