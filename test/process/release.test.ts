// Runs Git and npm: what a release refuses before it begins, its bill of materials, and its command line.
import { afterAll, describe, expect, test } from 'bun:test'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv } from 'ajv'
import addFormats from 'ajv-formats'
import { check } from '../../release/check.ts'
import { moveActionTag } from '../../release/major-tag.ts'
import { type BillOfMaterials, writeSbom } from '../../release/sbom.ts'
import {
  commitAll,
  git,
  prepareStubs,
  readPart,
  type StubOptions,
  type StubRelease,
  stubRelease,
} from '../support/release.ts'
import { run } from '../support/server.ts'

const ROOT = join(import.meta.dir, '..', '..')
const made: StubRelease[] = []
const make = (options: StubOptions = {}) => {
  const release = stubRelease({ repository: true, ...options })
  made.push(release)
  return release
}
afterAll(() => {
  for (const release of made) release.remove()
})

describe('release check', () => {
  test('accepts a tagged commit with a section in the changelog', async () => {
    const release = make()
    await check(release)
    expect(release.printed).toEqual(['v1.2.3 can be released'])
  })

  test('refuses a tag that does not match the version', async () => {
    await expect(check({ ...make(), tag: 'v1.2.4' })).rejects.toThrow(
      'the tag v1.2.4 does not match version 1.2.3 of package.json: expected v1.2.3',
    )
  })

  test('refuses a lockfile of another version', async () => {
    const release = make()
    writeFileSync(join(release.root, 'package-lock.json'), '{"version":"1.2.2"}')
    await expect(check(release)).rejects.toThrow('package-lock.json has version 1.2.2, package.json has 1.2.3')
  })

  test('refuses changes that are not committed, and names them', async () => {
    const release = make()
    for (const name of ['a', 'b', 'c', 'd', 'e', 'f', 'g']) writeFileSync(join(release.root, name), '')
    await expect(check(release)).rejects.toThrow(
      /changes that are not committed; .*:\n {2}\?\? a\n(.*\n){4} {2}and 2 more$/,
    )
  })

  test('refuses a commit that the tag does not lead to, and a release without its tag', async () => {
    const release = make()
    const tagged = git(release, 'rev-parse', 'HEAD')
    writeFileSync(join(release.root, 'more'), '')
    const head = commitAll(release)
    await expect(check(release)).rejects.toThrow(`the tag v1.2.3 is at commit ${tagged}, and this checkout at ${head}`)
    git(release, 'tag', '--delete', 'v1.2.3')
    await expect(check(release)).rejects.toThrow('the tag v1.2.3 does not exist here')
    await check({ ...release, dry: true })
  })

  test('refuses a changelog without the version', async () => {
    const release = make()
    writeFileSync(join(release.root, 'CHANGELOG.md'), '# Changelog\n\n## Unreleased\n\n- New\n')
    commitAll(release)
    git(release, 'tag', '--force', 'v1.2.3')
    await expect(check(release)).rejects.toThrow('CHANGELOG.md has no section "## 1.2.3"')
  })
})

describe('release action tag', () => {
  test('moves to the commit of the release, and stays when the step is run again', async () => {
    const release = make()
    const commit = git(release, 'rev-parse', 'HEAD')
    git(release, 'commit', '--quiet', '--allow-empty', '--message', 'older release')
    git(release, 'push', '--quiet', 'origin', 'HEAD:refs/tags/v1')
    await prepareStubs(release, commit)
    await moveActionTag({ ...release, dry: true })
    await moveActionTag(release)
    await moveActionTag(release)
    expect(git(release, 'ls-remote', 'origin', 'refs/tags/v1')).toBe(`${commit}\trefs/tags/v1`)
    expect(release.printed).toEqual([
      `would move the tag v1 to ${commit}`,
      `moved the tag v1 to ${commit}`,
      `the tag v1 is at ${commit} already`,
    ])
  })

  test('stays for a prerelease, and says why it cannot be moved', async () => {
    const early = make({ version: '2.1.0-rc.1' })
    await prepareStubs(early, git(early, 'rev-parse', 'HEAD'))
    await moveActionTag(early)
    expect(early.printed).toEqual(['this prerelease does not move the tag of the action'])
    const alone = make()
    await prepareStubs(alone, git(alone, 'rev-parse', 'HEAD'))
    git(alone, 'remote', 'set-url', 'origin', join(alone.root, 'nowhere'))
    await expect(moveActionTag(alone)).rejects.toThrow(/git ls-remote origin .* failed with exit code 128:\n.*nowhere/)
  })
})

describe('release bill of materials', () => {
  const schemaOf = (name: string) =>
    JSON.parse(
      readFileSync(
        join(ROOT, `node_modules/@cyclonedx/cyclonedx-library/res/schema/${name}.SNAPSHOT.schema.json`),
        'utf8',
      ),
    )

  test('is valid CycloneDX and lists everything in the executable', async () => {
    const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
    const release = { ...make({ version }), root: ROOT, env: process.env }
    await writeSbom(release)
    const path = join('assets', 'understudy.cdx.json')
    const bill = readPart(release, path) as BillOfMaterials
    const ajv = new Ajv({ strict: false, logger: false })
    addFormats(ajv)
    for (const name of ['spdx', 'jsf-0.82'])
      ajv.addSchema({ ...schemaOf(name), $id: `http://cyclonedx.org/schema/${name}.SNAPSHOT.schema.json` })
    const validate = ajv.compile(schemaOf('bom-1.5'))
    expect([validate(bill), validate.errors]).toEqual([true, null])
    const { stdout } = await run(['licenses', '--json'])
    const parts = JSON.parse(stdout) as { name: string; license: string }[]
    const names = bill.components.map(({ name }) => name)
    expect(parts.filter(({ name, license }) => name !== license && !names.includes(name))).toEqual([])
    expect(names).toEqual(expect.arrayContaining(['Bun', 'SQLite', 'zod', 'vue']))
    expect(names).not.toContain('bun-types')
    expect(bill.components.find(({ name }) => name === 'SQLite')?.version).toMatch(/^3\.\d+\.\d+$/)
    expect(bill.metadata.component.purl).toBe(`pkg:github/example/understudy@v${version}`)
    // Nothing in it is called as the package of somebody else.
    expect(JSON.stringify(bill)).not.toContain('pkg:npm/understudy@')
    // Nothing in it depends on when it is written.
    const committed = Bun.spawnSync(['git', 'log', '-1', '--format=%cI'], { cwd: ROOT }).stdout.toString().trim()
    expect(bill.metadata.timestamp).toBe(new Date(committed).toISOString())
  }, 60_000)
})

describe('npm run release', () => {
  const release = async (...args: string[]) => {
    const child = Bun.spawn([process.execPath, join(ROOT, 'release', 'run.ts'), ...args], {
      env: { PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? '' },
      stdout: 'pipe',
      stderr: 'pipe',
    })
    const [stdout, stderr] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()])
    return { code: await child.exited, stdout, stderr }
  }

  test('lists its steps', async () => {
    const { code, stdout } = await release('--help')
    expect([code, stdout]).toEqual([0, expect.stringMatching(/^ {2}npm {13}publish the npm packages$/m)])
  })

  test.each([
    [[], 'release: name a step, or --dry'],
    [['upload'], 'release: unknown step "upload"; valid: check, archives,'],
    [['--managers', 'pip', 'install'], 'release: unknown package manager "pip"; valid: npm, bun, pnpm'],
    [['--fast'], "release: Unknown option '--fast'"],
    [['npm', '--dry', '--out', '/nowhere'], 'release: /nowhere/manifest.json does not exist: run npm run release'],
    [['check', '--dry', '--tag', 'v0.0.0'], 'release: the tag v0.0.0 does not match version'],
  ])('reports %j', async (args, message) => {
    const { code, stderr } = await release(...args)
    expect([code, stderr]).toEqual([1, expect.stringContaining(message)])
    expect(stderr).not.toMatch(/^\s+at /m)
  })
})
