// A release with small files in place of executables, and the services that it is uploaded to.
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { archiveOf, FOLDERS, type Release, writePart } from '../../release/context.ts'
import { readImage, writeImage } from '../../release/image.ts'
import { writeManifest, writeSums } from '../../release/manifest.ts'
import { gzip, tar } from '../../src/build/archive.ts'
import { executableOf } from '../../src/build/platforms.ts'
import { emptyFolder } from './server.ts'

const NO_COMMIT = '0'.repeat(40)
const bytes = (text: string) => new TextEncoder().encode(text)

/** What a test decides about a release. */
export interface StubOptions {
  version?: string
  platforms?: readonly string[]
  env?: Record<string, string>
  /** Whether the checkout is a Git repository with a tagged commit on a remote one. */
  repository?: boolean
}

/** A release, the lines that its steps print, and what removes it. */
export interface StubRelease extends Release {
  printed: string[]
  remove(): void
}

/** A checkout, and an empty release. */
export function stubRelease(options: StubOptions = {}): StubRelease {
  const { version = '1.2.3', platforms = ['linux-x64'], env = {}, repository = false } = options
  const folder = emptyFolder()
  const root = join(folder.path, 'checkout')
  mkdirSync(root)
  const printed: string[] = []
  const release: StubRelease = {
    ...{ root, out: join(folder.path, 'release'), version, tag: `v${version}`, platforms, dry: false, printed },
    names: {
      npmScope: '@example',
      owner: 'example',
      repository: 'example/understudy',
      image: '127.0.0.1:1/understudy',
      homepage: 'https://github.com/example/understudy',
    },
    env: {
      ...{ PATH: process.env.PATH, HOME: folder.path, GIT_CONFIG_NOSYSTEM: '1', npm_config_update_notifier: 'false' },
      ...{ GIT_AUTHOR_NAME: 'A', GIT_AUTHOR_EMAIL: 'a@a', GIT_COMMITTER_NAME: 'A', GIT_COMMITTER_EMAIL: 'a@a' },
      ...env,
    },
    print: (line) => printed.push(line),
    remove: folder.remove,
  }
  writeFileSync(join(root, 'package-lock.json'), JSON.stringify({ version }))
  writeFileSync(
    join(root, 'CHANGELOG.md'),
    `# Changelog\n\n## ${version}\n\n- Everything is new. See [docs](docs/x.md).\n`,
  )
  if (!repository) return release
  git(release, 'init', '--quiet', '--bare', join(folder.path, 'remote.git'))
  git(release, 'init', '--quiet', '--initial-branch', 'main')
  git(release, 'remote', 'add', 'origin', join(folder.path, 'remote.git'))
  commitAll(release)
  git(release, 'tag', release.tag)
  git(release, 'push', '--quiet', 'origin', 'main', release.tag)
  return release
}

/** Runs Git in the checkout; gives what it printed. */
export function git(release: Release, ...args: string[]): string {
  const { exitCode, stdout, stderr } = Bun.spawnSync(['git', ...args], { cwd: release.root, env: { ...release.env } })
  if (exitCode !== 0) throw new Error(`git ${args.join(' ')}: ${stderr}`)
  return stdout.toString().trim()
}

/** Commits everything; gives the commit. */
export function commitAll(release: Release): string {
  git(release, 'add', '--all')
  git(release, 'commit', '--quiet', '--message', 'change')
  return git(release, 'rev-parse', 'HEAD')
}

/** A shell script that prints the version, in place of an executable. */
const stub = (version: string) => bytes(`#!/bin/sh\necho ${version}\n`)

/** Writes the archive of each platform. */
export async function stubArchives(release: Release): Promise<void> {
  for (const platform of release.platforms) {
    const path = `understudy-${platform}/${executableOf(platform)}`
    const archive = gzip(await tar([{ path, bytes: stub(release.version), executable: true }]))
    writePart(release, `${FOLDERS.assets}/${archiveOf(platform)}`, archive)
  }
}

/** A folder with libraries of the container image, which are not real. */
export function stubLibraries(release: Release): string {
  const folder = join(release.out, '..', 'libraries')
  for (const architecture of ['amd64', 'arm64']) {
    mkdirSync(join(folder, architecture, 'lib'), { recursive: true })
    writeFileSync(join(folder, architecture, 'lib', 'libc.so.6'), architecture)
  }
  return folder
}

/** Writes an npm package. */
export async function stubPackage(release: Release, name: string, text = ''): Promise<void> {
  const manifest = { name: `${release.names.npmScope}/${name}`, version: release.version }
  const entries = [
    { path: 'package/package.json', bytes: bytes(JSON.stringify(manifest)) },
    { path: 'package/text.txt', bytes: bytes(text) },
  ]
  writePart(release, `${FOLDERS.packages}/example-${name}-${release.version}.tgz`, gzip(await tar(entries)))
}

/** Writes everything that a release of a commit has. */
export async function prepareStubs(release: Release, commit = NO_COMMIT): Promise<void> {
  await stubArchives({ ...release, platforms: [...new Set([...release.platforms, 'linux-x64', 'linux-arm64'])] })
  for (const name of [...release.platforms, 'cli', 'test']) await stubPackage(release, name)
  for (const name of ['understudy.cdx.json', 'understudy.rb', 'understudy.json'])
    writePart(release, `${FOLDERS.assets}/${name}`, name)
  writePart(release, `${FOLDERS.site}/index.html`, 'site')
  writePart(release, 'notes.md', 'Everything is new.\n')
  await writeImage(release, { libraries: stubLibraries(release), revision: 'abc' })
  list(release, commit)
}

/** Writes the checksums and the manifest again. */
export function list(release: Release, commit = NO_COMMIT): void {
  writeSums(release)
  writeManifest(release, readImage(release), commit)
}

interface StubAsset {
  id: number
  name: string
  state: string
  digest: string
}
interface StubGithubRelease {
  id: number
  tag_name: string
  draft: boolean
  prerelease: boolean
  make_latest?: string
  body: string
  upload_url: string
  assets: StubAsset[]
}

/** The part of GitHub's API that a release needs. */
export interface StubGithub {
  url: string
  releases: StubGithubRelease[]
  /** Calls that changed something, such as `POST /uploads/1?name=x`. */
  changes: string[]
  /** While it returns true, such a call is refused. */
  refuses: (change: string) => boolean
  stop(): Promise<void>
}

/** Starts it. */
export function startGithub(): StubGithub {
  let last = 0
  const find = (id: string | undefined) => github.releases.find((one) => one.id === Number(id))
  async function answer(request: Request): Promise<Response> {
    const { pathname, search, searchParams, origin } = new URL(request.url)
    if (request.headers.get('authorization') !== 'Bearer secret') return new Response('bad token', { status: 401 })
    if (request.method === 'GET') return Response.json(github.releases)
    const change = `${request.method} ${pathname}${search}`
    if (github.refuses(change)) return Response.json({ message: 'refused' }, { status: 403 })
    github.changes.push(change)
    const [, id] = /(\d+)$/.exec(pathname) ?? []
    if (request.method === 'DELETE') {
      for (const one of github.releases) one.assets = one.assets.filter((asset) => asset.id !== Number(id))
      return new Response(null, { status: 204 })
    }
    if (pathname.startsWith('/uploads/')) {
      const digest = new Bun.CryptoHasher('sha256').update(await request.arrayBuffer()).digest('hex')
      const name = searchParams.get('name') ?? ''
      find(id)?.assets.push({ id: ++last, name, state: 'uploaded', digest: `sha256:${digest}` })
      return Response.json({}, { status: 201 })
    }
    const given = await request.json()
    if (request.method === 'PATCH') return Response.json(Object.assign(find(id) ?? {}, given))
    const upload_url = `${origin}/uploads/${++last}{?name,label}`
    const made = { ...given, id: last, upload_url, assets: [] }
    github.releases.push(made)
    return Response.json(made, { status: 201 })
  }
  const server = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: answer })
  const github: StubGithub = {
    url: `http://127.0.0.1:${server.port}`,
    ...{ releases: [], changes: [], refuses: () => false },
    stop: () => server.stop(true),
  }
  return github
}

/** Puts a program of this name before all others; gives the PATH. */
export function programInstead(folder: string, name: string, script: string): string {
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, name), script)
  chmodSync(join(folder, name), 0o755)
  return `${folder}:${process.env.PATH}`
}

/** A JSON file of the release. */
export const readPart = (release: Release, path: string): unknown =>
  JSON.parse(readFileSync(join(release.out, path), 'utf8'))
