// Unpacks the container image and runs the executable there: in a read-only root that has nothing else, as its user.
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { chownSync, copyFileSync, cpSync, existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { FOLDERS } from '../../release/context.ts'
import { readImage, writeImage } from '../../release/image.ts'
import { ARCHITECTURES, LIBRARY_NAMES } from '../../release/libraries.ts'
import { readPart, stubArchives, stubLibraries, stubRelease } from '../support/release.ts'
import { EXECUTABLE } from '../support/server.ts'

const architecture = process.arch === 'x64' ? 'amd64' : 'arm64'
const { triplet, loader } = ARCHITECTURES[architecture]
const here = `/usr/lib/${triplet}`
/** Needs the rights of root for `chroot` and mounts, and libraries like those of the image. */
const isPossible = process.platform === 'linux' && process.getuid?.() === 0 && existsSync(join(here, 'libstdc++.so.6'))

describe.skipIf(!isPossible)('container image', () => {
  const release = stubRelease({ platforms: ['linux-x64', 'linux-arm64'] })
  const root = join(release.out, 'root')
  const data = join(release.out, 'data')
  afterAll(release.remove)

  beforeAll(async () => {
    const libraries = stubLibraries(release)
    for (const name of LIBRARY_NAMES)
      cpSync(join(here, name), join(libraries, architecture, 'lib', name), { dereference: true })
    cpSync(join(here, loader.slice(loader.indexOf('/'))), join(libraries, architecture, loader), { dereference: true })
    await stubArchives(release)
    await writeImage(release, { libraries, revision: 'abc' })
    const { digest } = readImage(release).architectures.find((one) => one.architecture === architecture) ?? {}
    const blob = (name = '') => `${FOLDERS.image}/blobs/${name.replace(':', '/')}`
    const { layers } = readPart(release, blob(digest)) as { layers: { digest: string }[] }
    mkdirSync(root)
    for (const layer of layers) Bun.spawnSync(['tar', '-xzf', join(release.out, blob(layer.digest)), '-C', root])
    // In place of the small one, whose rights it gets: to compress it takes seconds.
    copyFileSync(EXECUTABLE, join(root, 'understudy'))
    // Where a container runtime mounts it; the volume is beside.
    mkdirSync(join(root, 'proc'))
    mkdirSync(data)
    chownSync(data, 65532, 65532)
  }, 60_000)

  /** Runs a command of the image in a root that cannot be written to. */
  function start(args: readonly string[], env: Record<string, string>) {
    const script = [
      'mount --bind "$0" "$0"',
      'mount --bind "$1" "$0/data"',
      'mount -t proc proc "$0/proc"',
      'mount -o remount,ro,bind "$0"',
      'root="$0"; shift',
      'exec chroot --userspec=65532:65532 "$root" /understudy "$@"',
    ].join(' && ')
    const settings = { UNDERSTUDY_HOST: '0.0.0.0', UNDERSTUDY_DB: '/data/understudy.db', TMPDIR: '/data' }
    return Bun.spawn(['unshare', '--mount', 'sh', '-c', script, root, data, ...args], {
      env: { PATH: process.env.PATH ?? '', ...settings, ...env },
      stdout: 'pipe',
      stderr: 'pipe',
    })
  }

  test('needs a token, answers calls, reports its health, and keeps its data after SIGTERM', async () => {
    const refused = start(['serve', '--port', '0'], {})
    expect([await refused.exited, await new Response(refused.stderr).text()]).toEqual([
      expect.any(Number),
      expect.stringContaining('token'),
    ])
    expect(refused.exitCode).not.toBe(0)
    const headers = { authorization: 'Bearer secret', 'content-type': 'application/json' }
    const traces = []
    for (const run of [1, 2]) {
      const server = start(['serve', '--port', '0', '--json'], { UNDERSTUDY_TOKEN: 'secret' })
      const { value } = await server.stdout.getReader().read()
      const { url } = JSON.parse(new TextDecoder().decode(value))
      const address = url.replace('0.0.0.0', '127.0.0.1')
      const body = JSON.stringify({ model: 'gpt-4o', messages: [{ role: 'user', content: `Hello ${run}!` }] })
      const answer = await fetch(`${address}/v1/chat/completions`, { method: 'POST', headers, body })
      expect(answer.status).toBe(200)
      const health = start(['health', '--url', address], {})
      expect([await health.exited, await new Response(health.stdout).text()]).toEqual([
        0,
        expect.stringContaining('is ok, with 1 session'),
      ])
      const { data } = (await (await fetch(`${address}/_understudy/traces`, { headers })).json()) as { data: object[] }
      traces.push(data.length)
      server.kill('SIGTERM')
      expect(await server.exited).toBe(0)
    }
    expect(traces).toEqual([1, 2])
  }, 60_000)
})
