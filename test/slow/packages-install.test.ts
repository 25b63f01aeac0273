// The npm packages: they install from a registry or a file without any script, bring this platform's executable, and run it.
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type LocalRegistry, startLocalRegistry } from '../../release/local-registry.ts'
import { once } from '../../src/lib/once.ts'
import { packedPackages, SCOPE, tarballName } from '../support/packages.ts'
import { emptyFolder } from '../support/server.ts'

const folders: ReturnType<typeof emptyFolder>[] = []
let registry: LocalRegistry
let tarballs: string
beforeAll(async () => {
  tarballs = await packedPackages()
  registry = await startLocalRegistry(tarballs)
})
afterAll(async () => {
  await registry.stop()
  for (const folder of folders) folder.remove()
})

const folder = () => {
  const made = emptyFolder()
  folders.push(made)
  writeFileSync(join(made.path, 'package.json'), '{"name":"project","private":true}')
  return made.path
}
const cache = folder()

/** Runs a command of npm in a folder, with the registry alone. */
async function npm(cwd: string, command: readonly string[]) {
  const child = Bun.spawn([...command], {
    cwd,
    env: {
      ...{ PATH: process.env.PATH ?? '', HOME: cwd, npm_config_cache: cache, npm_config_registry: registry.url },
      ...{ npm_config_audit: 'false', npm_config_fund: 'false', npm_config_update_notifier: 'false' },
    },
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const [said, complaint] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()])
  return { code: await child.exited, said, complaint }
}
const { version } = JSON.parse(readFileSync(join(import.meta.dir, '../../package.json'), 'utf8'))
const platform = `${process.platform}-${process.arch}`
/** The command in the folder of a project. */
const installedIn = (cwd: string) => join(cwd, 'node_modules', '.bin', 'understudy')
const manifestOf = (cwd: string, name: string) =>
  JSON.parse(readFileSync(join(cwd, 'node_modules', name, 'package.json'), 'utf8'))

test('command package: npm installs one executable, which npx runs', async () => {
  const cwd = folder()
  const { code, complaint } = await npm(cwd, ['npm', 'install', '--save-dev', '@understudy/cli'])
  expect([code, complaint]).toEqual([0, ''])
  expect(readdirSync(join(cwd, 'node_modules', SCOPE)).sort()).toEqual(['cli', platform].sort())
  const { os, cpu, libc, scripts } = manifestOf(cwd, `@understudy/${platform}`)
  expect({ os, cpu, scripts }).toEqual({ os: [process.platform], cpu: [process.arch], scripts: undefined })
  if (process.platform === 'linux') expect(libc).toEqual(['glibc'])
  expect(manifestOf(cwd, '@understudy/cli').scripts).toBeUndefined()

  const said = await npm(cwd, ['npx', '@understudy/cli', '--version'])
  expect([said.code, said.said.trim()]).toEqual([0, version])
  const wrong = await npm(cwd, [installedIn(cwd), 'serve', '--port', 'x'])
  expect([wrong.code, wrong.complaint]).toEqual([
    2,
    expect.stringContaining('--port must be a number from 0 to 65535, got "x"'),
  ])
  await served(cwd)
  // The other platforms are known to the registry of the day, or not; nobody fails because of them.
  expect(registry.missing.every((name) => name.startsWith('@understudy/'))).toBe(true)
}, 60_000)

/** `understudy serve` from the package answers, and ends when it is asked to. */
async function served(cwd: string) {
  const child = Bun.spawn([installedIn(cwd), 'serve', '--port', '0', '--json', '--db', ':memory:'], {
    cwd,
    stdout: 'pipe',
  })
  const { value } = await child.stdout.getReader().read()
  const { url } = JSON.parse(new TextDecoder().decode(value))
  expect((await (await fetch(`${url}/_understudy/health`)).json()).version).toBe(version)
  child.kill('SIGTERM')
  expect(await child.exited).toBe(0)
}

test('test helper package: installs into an empty folder, finds the executable, and needs nothing else', async () => {
  const cwd = folder()
  const file = join(tarballs, `${tarballName('test')}-${version}.tgz`)
  expect((await npm(cwd, ['npm', 'install', file])).code).toBe(0)
  expect(readdirSync(join(cwd, 'node_modules')).filter((name) => !name.startsWith('.'))).toEqual([SCOPE])
  expect(readdirSync(join(cwd, 'node_modules', SCOPE)).sort()).toEqual([platform, 'test'].sort())
  const text =
    "const { openSession } = await import('@understudy/test'); const { understudy } = await openSession({ title: 'x' }); console.log(understudy.session)"
  const { code, said } = await npm(cwd, ['node', '--input-type=module', '--eval', text])
  expect([code, said]).toEqual([0, expect.stringMatching(/^x-[0-9a-f]{8}\n$/)])
}, 60_000)

test('bun add @understudy/cli: installs the executable and runs it', async () => {
  const cwd = folder()
  const added = await npm(cwd, [process.execPath, 'add', '--dev', `--registry=${registry.url}`, '@understudy/cli'])
  expect([added.code, added.complaint]).toEqual([0, expect.not.stringContaining('error')])
  expect(readdirSync(join(cwd, 'node_modules', SCOPE)).sort()).toEqual(['cli', platform].sort())
  expect((await npm(cwd, [installedIn(cwd), '--version'])).said.trim()).toBe(version)
}, 60_000)

/** A project with the command, and without its executable. */
const withoutExecutable = once(async () => {
  const cwd = folder()
  await npm(cwd, ['npm', 'install', '--omit=optional', '@understudy/cli'])
  return cwd
})

test('command without the platform package: names the platform and the download, and accepts the package of musl', async () => {
  const cwd = await withoutExecutable()
  expect(readdirSync(join(cwd, 'node_modules', SCOPE))).toEqual(['cli'])
  const { code, complaint } = await npm(cwd, [installedIn(cwd), '--version'])
  expect([code, complaint]).toEqual([1, expect.stringContaining(`the executable for ${platform} is missing`)])
  expect(complaint).toContain(`npm install @understudy/${platform}@${version}`)
  expect(complaint).toContain(`download understudy-${platform}.tar.gz`)
  if (process.platform !== 'linux') return
  // As where the C library is musl: its package alone is there.
  const musl = join(cwd, 'node_modules', SCOPE, `${platform}-musl`)
  mkdirSync(join(musl, 'bin'), { recursive: true })
  writeFileSync(join(musl, 'package.json'), '{}')
  writeFileSync(join(musl, 'bin', 'understudy'), '#!/bin/sh\necho musl\n', { mode: 0o755 })
  expect((await npm(cwd, [installedIn(cwd), '--version'])).said).toBe('musl\n')
}, 60_000)

test('command on another platform: lists the platforms that have an executable', async () => {
  const cwd = await withoutExecutable()
  const launcher = join(cwd, 'node_modules', '@understudy', 'cli', 'bin', 'understudy.mjs')
  const elsewhere = "Object.defineProperty(process, 'platform', { value: 'sunos' })"
  const { code, complaint } = await npm(cwd, ['node', '--import', `data:text/javascript,${elsewhere}`, launcher])
  expect([code, complaint]).toEqual([1, expect.stringContaining(`there is no executable for sunos-${process.arch}`)])
  expect(complaint).toContain('available: linux-x64, linux-arm64,')
}, 60_000)
