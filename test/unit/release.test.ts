// What a release is made of: notes, names of a version, formulas, and the container image.
import { afterAll, describe, expect, test } from 'bun:test'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { FOLDERS, sha256, writePart } from '../../release/context.ts'
import { homebrewFormula, scoopManifest } from '../../release/formulas.ts'
import { RUN, readImage, writeImage } from '../../release/image.ts'
import { filesOf, type ReleaseManifest, readManifest } from '../../release/manifest.ts'
import { notesOf, writeNotes } from '../../release/notes.ts'
import { sitePath } from '../../release/site.ts'
import { STEPS } from '../../release/steps.ts'
import { actionTag, imageTags, npmTag } from '../../release/versions.ts'
import { platforms } from '../../src/build/platforms.ts'
import {
  list,
  prepareStubs,
  readPart,
  type StubRelease,
  stubArchives,
  stubLibraries,
  stubRelease,
} from '../support/release.ts'

const made: StubRelease[] = []
const make = (...options: Parameters<typeof stubRelease>) => {
  const release = stubRelease(...options)
  made.push(release)
  return release
}
afterAll(() => {
  for (const release of made) release.remove()
})

test.each([
  ['1.2.3', 'latest', ['1.2.3', '1.2', '1', 'latest'], 'v1'],
  ['1.3.0-rc.1', 'next', ['1.3.0-rc.1'], null],
  // Before there is a final version, its candidates are what people get.
  ['1.0.0-rc.1', 'latest', ['1.0.0-rc.1', '1', 'latest'], 'v1'],
  ['2.0.0-rc.1', 'next', ['2.0.0-rc.1', '2'], 'v2'],
])('release names: a prerelease moves no tag that leads to a final version: %s', (version, npm, image, action) => {
  expect([npmTag(version), imageTags(version), actionTag(version)]).toEqual([npm, image, action])
})

test.each([
  ['https://github.com/example/understudy', '/understudy/'],
  ['https://example.github.io/docs', '/docs/'],
  ['https://understudy.example/', '/'],
])('release site: is served at the path of the homepage: %s', (homepage, path) => {
  expect(sitePath(homepage)).toBe(path)
})

describe('release notes', () => {
  const changelog =
    '# Changelog\n\n## 1.10.0\n\n## [1.1.0] - 2026-01-01\n\n- New\n\n### More\n\nText\n\n## 1.0.0\n\n- Old\n'

  test('are the section of the version', () => {
    expect(notesOf(changelog, '1.1.0')).toBe('- New\n\n### More\n\nText')
    expect(notesOf(changelog, '1.0.0')).toBe('- Old')
  })

  test.each([
    ['1.1', 'CHANGELOG.md has no section "## 1.1"'],
    ['1.10.0', 'the section "## 1.10.0" of CHANGELOG.md is empty'],
  ])('are refused when the section is missing or empty: %s', (version, message) => {
    expect(() => notesOf(changelog, version)).toThrow(message)
  })

  test('link to the files of the tag', async () => {
    const release = make()
    await writeNotes(release)
    expect(readFileSync(join(release.out, 'notes.md'), 'utf8')).toBe(
      '- Everything is new. See [docs](https://github.com/example/understudy/blob/v1.2.3/docs/x.md).\n',
    )
  })
})

describe('release formulas', () => {
  const release = make({ platforms })
  const download = 'https://github.com/example/understudy/releases/download/v1.2.3'
  const hash = (platform: string) =>
    sha256(readFileSync(join(release.out, FOLDERS.assets, `understudy-${platform}.tar.gz`)))

  test('name the archive of each platform and its checksum', async () => {
    await stubArchives(release)
    const formula = homebrewFormula(release)
    for (const platform of ['darwin-x64', 'darwin-arm64', 'linux-x64', 'linux-arm64'])
      expect(formula).toContain(
        `      url "${download}/understudy-${platform}.tar.gz"\n      sha256 "${hash(platform)}"\n`,
      )
    expect(scoopManifest(release)).toMatchObject({
      version: '1.2.3',
      architecture: {
        '64bit': {
          url: `${download}/understudy-win32-x64.tar.gz`,
          hash: hash('win32-x64'),
          extract_dir: 'understudy-win32-x64',
        },
        arm64: { url: `${download}/understudy-win32-arm64.tar.gz`, hash: hash('win32-arm64') },
      },
    })
  })
})

describe('release manifest', () => {
  test('lists each file with its checksum and destination, and later steps refuse a changed one', async () => {
    const release = make()
    await prepareStubs(release)
    const { files, commit, tag } = readManifest(release)
    expect([tag, commit]).toEqual(['v1.2.3', expect.stringMatching(/^[0-9a-f]{40}$/)])
    const destinations = Object.fromEntries(files.map(({ path, to }) => [path.split('/')[0], to]))
    expect(destinations).toEqual({
      assets: 'GitHub release v1.2.3',
      image: '127.0.0.1:1/understudy:1.2.3',
      npm: 'npm, tag latest',
      site: 'documentation site',
      'notes.md': 'notes of GitHub release v1.2.3',
    })
    expect(filesOf(release, FOLDERS.assets).length).toBe(6)
    writePart(release, `${FOLDERS.assets}/understudy.rb`, 'something else')
    expect(() => filesOf(release, FOLDERS.assets)).toThrow('assets/understudy.rb has changed since')
    expect(filesOf(release, FOLDERS.packages)).toHaveLength(3)
    expect(() => readManifest({ ...release, tag: 'v1.2.4' })).toThrow('has the release v1.2.3, expected v1.2.4')
  })

  test('names what is missing', async () => {
    const release = make({ platforms: ['linux-x64', 'win32-x64'] })
    await prepareStubs({ ...release, platforms: ['linux-x64'] })
    expect(() => list(release)).toThrow('the release is not complete, it has no assets/understudy-win32-x64.tar.gz')
    expect(() => readManifest({ ...release, out: join(release.out, 'nowhere') })).toThrow(
      'run npm run release -- prepare',
    )
  })
})

describe('container image', () => {
  test('has both architectures, with a digest that depends on its files alone', async () => {
    const [first, second] = [make({ platforms }), make({ platforms })]
    for (const release of [first, second]) {
      await stubArchives(release)
      await writeImage(release, { libraries: stubLibraries(release), revision: 'abc' })
    }
    const image = readImage(first)
    expect(image).toEqual(readImage(second))
    expect(image.architectures.map(({ architecture }) => architecture)).toEqual(['amd64', 'arm64'])
    const blob = (digest: string) => `${FOLDERS.image}/blobs/${digest.replace(':', '/')}`
    for (const { digest, architecture } of image.architectures) {
      const { config, layers } = readPart(first, blob(digest)) as Record<'config', { digest: string }> & {
        layers: { digest: string; size: number }[]
      }
      const described = readPart(first, blob(config.digest)) as { architecture: string; config: object }
      expect([described.architecture, described.config]).toEqual([architecture, expect.objectContaining(RUN)])
      for (const { digest, size } of layers) {
        const bytes = readFileSync(join(first.out, blob(digest)))
        expect([`sha256:${sha256(bytes)}`, bytes.length]).toEqual([digest, size])
      }
      const listed = layers.flatMap(({ digest }) =>
        Bun.spawnSync(['tar', '-tzf', join(first.out, blob(digest))])
          .stdout.toString()
          .trim()
          .split('\n'),
      )
      expect(listed).toEqual(['data/', 'etc/', 'etc/nsswitch.conf', 'lib/', 'lib/libc.so.6', 'understudy'])
    }
    await writeImage(second, { libraries: stubLibraries(second), revision: 'another' })
    expect(readImage(second).digest).not.toBe(image.digest)
  })

  test('is not made without an executable or without libraries', async () => {
    const release = make({ platforms: ['linux-x64'] })
    const libraries = stubLibraries(release)
    await stubArchives(release)
    const missing = join(release.out, 'assets', 'understudy-linux-arm64.tar.gz')
    expect(existsSync(missing)).toBe(false)
    await expect(writeImage(release, { libraries, revision: 'abc' })).rejects.toThrow(missing)
    await expect(writeImage(release, { libraries: '/nowhere', revision: 'abc' })).rejects.toThrow(
      'the folder /nowhere/amd64 with the libraries of the image does not exist',
    )
    expect(() => readImage({ ...release, out: '/nowhere' })).toThrow('run npm run release -- image')
  })
})

test('release packages: are not packed without the executable of each platform', async () => {
  const release = make({ platforms: ['linux-x64', 'win32-x64', 'darwin-arm64'] })
  await stubArchives({ ...release, platforms: ['linux-x64'] })
  const packed = STEPS.packages?.run(release, { libraries: undefined, managers: [] })
  await expect(Promise.resolve(packed)).rejects.toThrow('the executables for win32-x64, darwin-arm64 are missing in')
})

test('release manifest: says what a prerelease is', async () => {
  const release = make({ version: '2.1.0-rc.1' })
  await prepareStubs(release)
  const manifest = readPart(release, 'manifest.json') as ReleaseManifest
  expect([manifest.prerelease, manifest.actionTag]).toEqual([true, null])
})
