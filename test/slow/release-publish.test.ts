// Starts npm dozens of times: publishes to a registry, a Git host and a container registry on this machine, with refusals half-way.
import { afterAll, afterEach, describe, expect, test } from 'bun:test'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { FOLDERS } from '../../release/context.ts'
import { draftRelease, publishRelease } from '../../release/github.ts'
import { readImage, writeImage } from '../../release/image.ts'
import { type LocalRegistry, startLocalRegistry } from '../../release/local-registry.ts'
import { publishPackages } from '../../release/npm.ts'
import { pushImage } from '../../release/push-image.ts'
import {
  list,
  prepareStubs,
  programInstead,
  type StubGithub,
  type StubRelease,
  startGithub,
  stubArchives,
  stubLibraries,
  stubPackage,
  stubRelease,
} from '../support/release.ts'

const made: StubRelease[] = []
const make = (...options: Parameters<typeof stubRelease>) => {
  const release = stubRelease(...options)
  made.push(release)
  return release
}
const stops: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop()
})
afterAll(() => {
  for (const release of made) release.remove()
})

describe('npm packages', () => {
  async function prepared(version = '1.2.3', platforms: readonly string[] = ['win32-arm64']) {
    const registry = await startLocalRegistry()
    stops.push(registry.stop)
    const env = { npm_config_registry: registry.url, NPM_TOKEN: 'secret' }
    const release = make({ version, platforms, env })
    await prepareStubs(release)
    return { release, registry }
  }
  const tags = (registry: LocalRegistry) => registry.packageOf('@example/cli')?.['dist-tags']

  test('are published with the executables first, once, even where a registry refused one, and never with other contents', async () => {
    const version = '1.2.3-rc.1'
    const { release, registry } = await prepared(version)
    // Each npm takes a third of a second.
    rmSync(join(release.out, FOLDERS.packages, `example-test-${version}.tgz`))
    list(release)
    const order = ['win32-arm64', 'cli'].map((name) => `@example/${name}@${version}`)
    await publishPackages({ ...release, dry: true })
    expect([release.printed.splice(0), registry.published]).toEqual([
      order.map((name) => `would publish ${name} to npm, tag next`),
      [],
    ])
    registry.refusal = (name) => (name === '@example/cli' ? 'you may not publish this package' : undefined)
    await expect(publishPackages(release)).rejects.toThrow(
      /^npm refused example-cli-1\.2\.3-rc\.1\.tgz, after 1 of 2 packages:\n(.*\n)*.*you may not publish this package/,
    )
    expect(registry.published).toEqual(order.slice(0, 1))
    registry.refusal = () => undefined
    await publishPackages(release)
    expect(registry.published).toEqual(order)
    expect(release.printed.slice(1)).toEqual([`${order[0]} is already published`, `published ${order[1]}`])
    expect(tags(registry)?.next).toBe(version)
    await stubPackage(release, 'win32-arm64', 'changed')
    const { NPM_TOKEN: _, ...env } = release.env
    const again = { ...release, env }
    await expect(publishPackages(again)).rejects.toThrow(`npm/example-win32-arm64-${version}.tgz has changed since`)
    list(release)
    await expect(publishPackages(again)).rejects.toThrow(
      /^@example\/win32-arm64@1\.2\.3-rc\.1 is published with other contents \(sha512-.*release another/,
    )
    expect(registry.published).toEqual(order)
  }, 120_000)

  test('have the tag of their version', async () => {
    const { release } = await prepared()
    await publishPackages({ ...release, dry: true })
    expect(release.printed[0]).toBe('would publish @example/win32-arm64@1.2.3 to npm, tag latest')
  })

  test('are not published without the package of a platform, or when the registry does not respond', async () => {
    const { release, registry } = await prepared('1.2.3', ['linux-x64'])
    const platforms = ['linux-x64', 'darwin-x64']
    await expect(publishPackages({ ...release, platforms })).rejects.toThrow(
      'the npm packages of darwin-x64 are missing',
    )
    await registry.stop()
    const { NPM_TOKEN: _, ...rest } = release.env
    const env = { ...rest, npm_config_fetch_retries: '0' }
    const failed = publishPackages({ ...release, env })
    await expect(failed).rejects.toThrow(/^npm view @example\/linux-x64 failed:\n(.*\n)*.*(ECONNREFUSED|FetchError)/)
  }, 120_000)
})

describe('release on GitHub', () => {
  async function prepared() {
    const github: StubGithub = startGithub()
    stops.push(github.stop)
    const release = make({ env: { GITHUB_API_URL: github.url, GITHUB_TOKEN: 'secret' } })
    await prepareStubs(release)
    return { release, github }
  }
  const names = ({ releases: [one] }: StubGithub) => one?.assets.map(({ name }) => name).sort()

  test('is drafted with its files, then published, and a second run changes nothing', async () => {
    const { release, github } = await prepared()
    await draftRelease({ ...release, dry: true })
    await publishRelease({ ...release, dry: true })
    expect([github.changes, release.printed.splice(0)]).toEqual([
      [],
      ['would draft the GitHub release v1.2.3 with 6 files', 'would publish the GitHub release v1.2.3'],
    ])
    await draftRelease(release)
    const files = ['SHA256SUMS', 'understudy-linux-arm64.tar.gz', 'understudy-linux-x64.tar.gz', 'understudy.cdx.json']
    expect(names(github)).toEqual([...files, 'understudy.json', 'understudy.rb'])
    expect(github.releases).toMatchObject([{ tag_name: 'v1.2.3', draft: true, body: 'Everything is new.\n' }])
    await publishRelease(release)
    expect(github.releases).toMatchObject([{ draft: false, prerelease: false, make_latest: 'true' }])
    const { length } = github.changes
    await draftRelease(release)
    await publishRelease(release)
    expect(github.changes).toHaveLength(length)
  })

  test('continues where an upload was refused, and replaces a file that was cut off', async () => {
    const { release, github } = await prepared()
    github.refuses = (change) => change.includes('linux-x64')
    const failed = draftRelease(release)
    await expect(failed).rejects.toThrow(
      /^GitHub refused POST .*linux-x64\.tar\.gz with status 403: {"message":"refused"}/,
    )
    const before = github.changes.length
    github.refuses = () => false
    await draftRelease(release)
    expect(names(github)).toHaveLength(6)
    // The draft was there, and the files before the refused one.
    expect(github.changes.slice(before).filter((change) => !change.includes('/uploads/'))).toEqual([])
    expect(github.changes.filter((change) => change.includes('SHA256SUMS'))).toHaveLength(1)
  })

  test('is never published with other files', async () => {
    const { release, github } = await prepared()
    await draftRelease(release)
    const [asset] = github.releases[0]?.assets ?? []
    if (asset) asset.state = 'starter'
    await draftRelease(release)
    expect(github.changes.filter((change) => change.startsWith('DELETE'))).toHaveLength(1)
    expect(names(github)).toHaveLength(6)
    await publishRelease(release)
    await stubArchives({ ...release, version: 'changed' })
    list(release)
    const failed = draftRelease(release)
    await expect(failed).rejects.toThrow('is published with another SHA256SUMS: release another version')
  })

  test('needs a token that GitHub accepts', async () => {
    const { release } = await prepared()
    const draft = (token: string) => draftRelease({ ...release, env: { ...release.env, GITHUB_TOKEN: token } })
    await expect(draft('')).rejects.toThrow('GITHUB_TOKEN is not set')
    await expect(draft('wrong')).rejects.toThrow('with status 401: bad token')
  })
})

/** A container registry (OCI Distribution Specification 1.1) that keeps what it is sent. */
function startImageRegistry() {
  const kept = new Map<string, Uint8Array>()
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      const { pathname, searchParams } = new URL(request.url)
      const [, key = '', kind] = /^\/v2\/understudy\/((blobs|manifests)\/.*)$/.exec(pathname) ?? []
      if (request.method === 'POST') return new Response(null, { status: 202, headers: { location: `${pathname}1` } })
      const bytes = new Uint8Array(await request.arrayBuffer())
      const digest = `sha256:${new Bun.CryptoHasher('sha256').update(bytes).digest('hex')}`
      if (request.method === 'PATCH') {
        kept.set('upload', bytes)
        return new Response(null, { status: 202, headers: { location: pathname } })
      }
      if (request.method === 'PUT') {
        const named = searchParams.get('digest')
        if (named) kept.set(`blobs/${named}`, bytes.length > 0 ? bytes : (kept.get('upload') ?? bytes))
        else for (const name of [key, `manifests/${digest}`]) kept.set(name, bytes)
        return new Response(null, { status: 201, headers: { 'docker-content-digest': named ?? digest } })
      }
      if (pathname === '/v2/') return new Response('{}')
      const found = kept.get(key)
      if (!found) return new Response('{"errors":[{"code":"MANIFEST_UNKNOWN"}]}', { status: 404 })
      const type =
        kind === 'manifests' ? JSON.parse(new TextDecoder().decode(found)).mediaType : 'application/octet-stream'
      return new Response(request.method === 'HEAD' ? null : new Uint8Array(found), {
        headers: { 'content-type': type, 'content-length': String(found.length) },
      })
    },
  })
  stops.push(() => server.stop(true))
  return { image: `127.0.0.1:${server.port}/understudy`, kept }
}

describe('container image', () => {
  test.skipIf(!Bun.which('skopeo'))(
    'is uploaded under each of its tags, once',
    async () => {
      const { image, kept } = startImageRegistry()
      const release = make()
      const named = { ...release, names: { ...release.names, image } }
      await prepareStubs(named)
      const { digest, architectures } = readImage(named)
      await pushImage(named)
      for (const tag of ['1.2.3', '1.2', '1', 'latest']) {
        const bytes = kept.get(`manifests/${tag}`) ?? ''
        expect(`sha256:${new Bun.CryptoHasher('sha256').update(bytes).digest('hex')}`).toBe(digest)
      }
      for (const one of architectures) expect(kept.has(`manifests/${one.digest}`)).toBe(true)
      await pushImage(named)
      expect(release.printed.slice(4)).toEqual(
        ['1.2.3', '1.2', '1', 'latest'].map((tag) => `${image}:${tag} is already uploaded`),
      )
      await writeImage(named, { libraries: stubLibraries(named), revision: 'another' })
      list(named)
      await expect(pushImage(named)).rejects.toThrow(
        `${image}:1.2.3 is published with the digest ${digest}, not sha256:`,
      )
    },
    60_000,
  )

  test('says why it could not be uploaded', async () => {
    const release = make()
    await prepareStubs(release)
    const script = '#!/bin/sh\n[ "$1" = copy ] && echo "denied: no rights" >&2\nexit 1\n'
    const PATH = programInstead(join(release.root, 'bin'), 'skopeo', script)
    await expect(pushImage({ ...release, env: { ...release.env, PATH } })).rejects.toThrow(
      /skopeo copy .*denied: no rights/s,
    )
    await expect(pushImage({ ...release, env: { PATH: FOLDERS.image } })).rejects.toThrow(
      'skopeo is required for this step, and is not installed',
    )
  })
})
