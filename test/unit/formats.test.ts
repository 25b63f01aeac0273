// Formats have a version, which `--version --json` prints, and which files and reports state.
import { expect, test } from 'bun:test'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { FORMATS } from '../../src/contract/core/formats.ts'
import { VERSION } from '../../src/version.ts'
import { runCommand } from '../support/cli.ts'
import { emptyFolder } from '../support/server.ts'

test.each([[['--version', '--json']], [['--json', '--version']]])(
  '%j: prints version, commit, build and formats',
  async (args) => {
    const { code, stdout, stderr } = await runCommand(args)
    expect([code, stderr]).toEqual([0, ''])
    expect(JSON.parse(stdout)).toEqual({
      version: VERSION,
      // Set by the build.
      commit: null,
      build: {
        compiled: false,
        modified: null,
        platform: `${process.platform}-${process.arch}`,
        bun: Bun.version,
        sqlite: expect.stringMatching(/^3\.\d+\.\d+$/),
      },
      formats: FORMATS,
    })
  },
)

const files = {
  'scenarios/a.yaml': 'name: a\nrules: [{ name: a, fault: { type: reset } }]\n',
  'fixtures/chat.completions/a.yaml': 'match: { user: hi }\nreply: { content: x }\n',
  'workspace.yaml': 'contacts: [{ external_id: ada, display_name: Ada }]\n',
}
test.each(Object.entries(files))('version in %s: is accepted when it is the one that is read', async (name, text) => {
  const folder = emptyFolder()
  const file = join(folder.path, name)
  mkdirSync(join(file, '..'), { recursive: true })
  const check = async (version: string) => {
    writeFileSync(file, `version: ${version}\n${text}`)
    return runCommand(['check', '.'], { cwd: folder.path })
  }
  const accepted = await check('1')
  expect([accepted.code, accepted.stderr]).toEqual([0, ''])
  for (const version of ['2', '"1"', '0']) {
    const { code, stdout, stderr } = await check(version)
    expect([code, stdout + stderr]).toEqual([
      2,
      expect.stringContaining('version must be 1, the version of the format'),
    ])
  }
  folder.remove()
})

test('docs/compatibility.md: names each format', () => {
  const page = readFileSync(join(import.meta.dir, '../../docs/compatibility.md'), 'utf8')
  expect(Object.keys(FORMATS).filter((name) => !page.includes(`\`${name}\``))).toEqual([])
})
