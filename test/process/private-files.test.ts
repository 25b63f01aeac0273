// Calls are stored in databases, snapshots and reports: they are readable only by the user who ran the program, whatever the umask.
import { afterAll, expect, test } from 'bun:test'
import { chmodSync, lstatSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { writeNewPrivateFile, writePrivateFile } from '../../src/lib/private-files.ts'
import { runCommand, serveHere } from '../support/cli.ts'
import { emptyFolder } from '../support/server.ts'

const folder = emptyFolder()
const cwd = folder.path
afterAll(folder.remove)
const modeOf = (file: string) => (lstatSync(file).mode & 0o777).toString(8)
/** The modes of all files and folders below one, by path; those of sockets and links aside. */
const modesIn = (path: string, under = ''): Record<string, string> =>
  Object.assign(
    {},
    ...readdirSync(join(path, under), { withFileTypes: true }).map((entry) => {
      const name = join(under, entry.name)
      return { [name]: modeOf(join(path, name)), ...(entry.isDirectory() && modesIn(path, name)) }
    }),
  )
const wrong = (path: string) =>
  Object.entries(modesIn(path)).filter(
    ([name, mode]) => mode !== (lstatSync(join(path, name)).isDirectory() ? '700' : '600'),
  )

/** Does something under a umask of this process. */
async function under<Result>(umask: string, act: () => Promise<Result>): Promise<Result> {
  const before = process.umask(umask)
  try {
    return await act()
  } finally {
    process.umask(before)
  }
}
const runUnder = (umask: string, cwd: string, args: readonly string[]) => under(umask, () => runCommand(args, { cwd }))
const CALL = `fetch(process.env.OPENAI_BASE_URL + '/chat/completions', { method: 'POST', headers: { authorization: 'Bearer ' + process.env.OPENAI_API_KEY, 'content-type': 'application/json' }, body: JSON.stringify({ model: 'gpt-4o', messages: [{ role: 'user', content: 'x' }] }) }).then((r) => process.exit(r.ok ? 0 : 1))`

const CLASS = 'server-error-once'
/** What gives everybody too much, and what would give the owner too little. */
const UMASKS = ['000', '277']
test.each(UMASKS)(
  'files of exec and explore under umask %s: are private',
  async (umask) => {
    const own = emptyFolder()
    const files = ['--junit', 'j.xml', '--html', 'r.html', '--coverage', 'c.json']
    const exec = await runUnder(umask, own.path, ['exec', '--db', 'x.db', ...files, '--', process.execPath, '-e', CALL])
    expect([exec.code, exec.stderr]).toEqual([0, ''])
    const explored = ['--out', 'out/deep', '--failure-mode', CLASS, ...files]
    const explore = await runUnder(umask, own.path, ['explore', ...explored, '--', process.execPath, '-e', CALL])
    expect(explore.stdout).toContain('Understudy')
    expect(Object.keys(modesIn(own.path))).toEqual(
      expect.arrayContaining(['x.db', 'j.xml', 'r.html', 'c.json', 'out', 'out/deep', 'out/deep/state.jsonl']),
    )
    expect(wrong(own.path)).toEqual([])
    own.remove()
  },
  60_000,
)

test.each(UMASKS)(
  'files of a server under umask %s: are private',
  async (umask) => {
    const own = emptyFolder()
    const at = (name: string) => join(own.path, name)
    const settings = ['--db', at('a.db'), '--sessions-dir', at('s/t'), '--ready-file', at('ready.json')]
    const server = await under(umask, async () => {
      const started = await serveHere(settings, { cwd: own.path })
      for (const session of ['default', 'one']) {
        const answer = await fetch(`${started.url}/s/${session}/v1/chat/completions`, {
          ...{ method: 'POST', headers: { authorization: 'Bearer any', 'content-type': 'application/json' } },
          body: JSON.stringify({ model: 'gpt-4o', messages: [{ role: 'user', content: 'x' }] }),
        })
        expect(answer.status).toBe(200)
      }
      return started
    })
    const { code } = await runUnder(umask, own.path, ['snapshot', 'save', 'snap.json', '--url', server.url])
    expect(code).toBe(0)
    const modes = modesIn(own.path)
    expect(Object.keys(modes)).toEqual(
      expect.arrayContaining([
        'a.db',
        'a.db-wal',
        'ready.json',
        'snap.json',
        's',
        's/t',
        's/t/one.session.db',
        's/t/one.session.db-wal',
      ]),
    )
    expect(wrong(own.path)).toEqual([])
    await server.stop()
    own.remove()
  },
  60_000,
)

test('existing database: becomes private with the files beside it', async () => {
  const own = emptyFolder()
  const made = ['exec', '--db', 'x.db', '--', process.execPath, '-e', CALL]
  expect((await runUnder('022', own.path, made)).code).toBe(0)
  for (const file of readdirSync(own.path)) chmodSync(join(own.path, file), 0o666)
  expect((await runUnder('022', own.path, made)).code).toBe(0)
  expect(wrong(own.path)).toEqual([])
  own.remove()
}, 60_000)

test('private file: replaces one that others may read, and a link stays a link', () => {
  const [file, link] = [join(cwd, 'file'), join(cwd, 'link')]
  writeFileSync(file, 'before', { mode: 0o666 })
  symlinkSync(file, link)
  writePrivateFile(link, 'after')
  expect([readFileSync(file, 'utf8'), modeOf(file), lstatSync(link).isSymbolicLink()]).toEqual(['after', '600', true])
  expect(readdirSync(cwd).sort()).toEqual(['file', 'link'])
  rmSync(file)
  rmSync(link)
})

test('new private file: is never written through an existing link', () => {
  const [secret, trap] = [join(cwd, 'secret'), join(cwd, 'trap')]
  writeFileSync(secret, 'mine')
  symlinkSync(secret, trap)
  expect(() => writeNewPrivateFile(trap, 'theirs')).toThrow('EEXIST')
  expect(readFileSync(secret, 'utf8')).toBe('mine')
})

test('private file: is written to a device without replacing it', () => {
  writePrivateFile('/dev/null', 'x')
  expect(lstatSync('/dev/null').isCharacterDevice()).toBe(true)
})
