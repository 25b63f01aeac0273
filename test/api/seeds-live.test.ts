// The seed of the workspace while the program runs: a new session is filled by the current files, a bad edit keeps the old ones, and check
// reports its errors.
import { afterEach, expect, test } from 'bun:test'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { FileError } from '../../src/schema/source.ts'
import { createTestApp, type TestApp } from '../support/app.ts'
import { runCommand } from '../support/cli.ts'
import { folderWith } from '../support/fixtures.ts'

const contact = (name: string) => `contacts:\n  - { external_id: user-1, display_name: ${name} }\n`
const open: (() => void | Promise<void>)[] = []
afterEach(async () => {
  for (const close of open.splice(0)) await close()
})

/** An application over a folder of fixtures, with what it said on the terminal. */
function appOver(files: Record<string, string>, named: readonly string[] = []) {
  const folder = folderWith(files)
  const said: string[] = []
  const report = (error: unknown) => {
    if (!(error instanceof FileError)) throw error
    said.push(error.message)
  }
  const seeds = named.map((name) => join(folder.path, name))
  const settings = { seed_file: seeds, ...(seeds.length === 0 && { fixtures: [folder.path] }) }
  const app = createTestApp(settings, report)
  open.push(app.close, folder.remove)
  return { app, said, write: (name: string, text: string) => writeFileSync(join(folder.path, name), text), folder }
}

async function listOf(app: TestApp, path: string, session: string): Promise<Record<string, unknown>[]> {
  const answer = await app.fetch(path, { headers: { 'x-understudy-session': session } })
  return (answer.json() as { data: Record<string, unknown>[] }).data
}
const namesIn = async (app: TestApp, session: string) =>
  (await listOf(app, '/v2/contacts', session)).map(({ display_name }) => display_name)

const chat = { 'chat.completions/a.yaml': 'match: { user: hi }\nreply: { content: ho }\n' }

test('seed file: fills only sessions created after an edit', async () => {
  const { app, write, said } = appOver({ ...chat, 'workspace.yaml': contact('Ada') })
  expect(await namesIn(app, 'first')).toEqual(['Ada'])
  write('workspace.yaml', contact('Grace'))
  expect(await namesIn(app, 'second')).toEqual(['Grace'])
  expect(await namesIn(app, 'first')).toEqual(['Ada'])
  expect(said).toEqual([])
})

test('seed file: stays in use after an invalid edit, which is reported once', async () => {
  const { app, write, said } = appOver({ ...chat, 'workspace.yaml': contact('Ada') })
  write('workspace.yaml', 'contacts:\n  - { external_id: user-1, display_nme: Ada }\n')
  expect(await namesIn(app, 'one')).toEqual(['Ada'])
  expect(await namesIn(app, 'two')).toEqual(['Ada'])
  expect(said).toHaveLength(1)
  expect(said[0]).toContain('workspace.yaml:2:28: contacts[0].display_nme is not known')
  expect(said[0]).toContain('the previous versions stay active')
  write('workspace.yaml', contact('Edith'))
  expect(await namesIn(app, 'three')).toEqual(['Edith'])
  expect(said).toHaveLength(1)
})

test('seed file: replaces the shipped example while it exists', async () => {
  const { app, write, folder } = appOver(chat)
  const shipped = await namesIn(app, 'one')
  expect(shipped.length).toBeGreaterThan(1)
  write('workspace.yaml', contact('Ada'))
  expect(await namesIn(app, 'two')).toEqual(['Ada'])
  rmSync(join(folder.path, 'workspace.yaml'))
  expect(await namesIn(app, 'three')).toEqual(shipped)
})

test('seed file: is reported as missing when a named one is deleted', async () => {
  const { app, folder, said } = appOver({ 'mine.yaml': contact('Ada') }, ['mine.yaml'])
  expect(await namesIn(app, 'one')).toEqual(['Ada'])
  rmSync(join(folder.path, 'mine.yaml'))
  expect(await namesIn(app, 'two')).toEqual(['Ada'])
  expect(said).toHaveLength(1)
  expect(said[0]).toContain('there is no such file')
})

const knowledge = 'knowledge:\n  - { key: help, documents: [{ file: a.txt }] }\n'

test('seed document: is read again when it changes, and left out with a report when it is not text', async () => {
  const { app, write, said, folder } = appOver({ 'seed.yaml': knowledge, 'a.txt': 'one' }, ['seed.yaml'])
  const sources = async (session: string) => {
    const [base] = await listOf(app, '/v2/knowledge', session)
    return listOf(app, `/v2/knowledge/${base?._id}/datasources`, session)
  }
  const before = await sources('one')
  expect(before).toHaveLength(1)
  write('a.txt', Array.from({ length: 4000 }, (_, index) => `word${index}.`).join(' '))
  const [after] = await sources('two')
  expect(Number(after?.chunks_count)).toBeGreaterThan(Number(before[0]?.chunks_count))
  writeFileSync(join(folder.path, 'a.txt'), new Uint8Array([0xff, 0xfe, 0xfd]))
  expect(await sources('three')).toEqual([])
  expect(said).toEqual(['document a.txt of the seed: it is not text in UTF-8; the knowledge base goes without it'])
})

const rows: [string, string[], { code: number; stdout?: string; stderr?: string }][] = [
  ['beside fixtures', ['good'], { code: 0, stdout: '1 fixture, 1 seed, 0 warnings\n' }],
  ['without fixtures', ['good/workspace.yaml'], { code: 0, stdout: '1 seed, 0 warnings\n' }],
  ['with an error', ['bad'], { code: 2, stderr: 'bad/workspace.yaml:2:28: contacts[0].display_nme is not known' }],
  ['with a missing document', ['gone'], { code: 2, stderr: '"a.txt" does not exist' }],
  ['with a document that is not text', ['binary'], { code: 2, stderr: 'a.txt: it is not text in UTF-8' }],
]
test.each(rows)('check: validates a seed %s', async (_, args, { code, stdout = '', stderr = '' }) => {
  const folder = folderWith({
    'good/chat.completions/a.yaml': chat['chat.completions/a.yaml'],
    'good/workspace.yaml': contact('Ada'),
    'bad/workspace.yaml': 'contacts:\n  - { external_id: user-1, display_nme: Ada }\n',
    'gone/workspace.yaml': knowledge,
    'binary/workspace.yaml': knowledge,
    'binary/a.txt': '',
  })
  open.push(folder.remove)
  writeFileSync(join(folder.path, 'binary/a.txt'), new Uint8Array([0xff, 0xfe, 0xfd]))
  const ended = await runCommand(['check', ...args], { cwd: folder.path })
  expect(ended).toMatchObject({ code, stdout })
  expect(ended.stderr).toContain(stderr)
})
