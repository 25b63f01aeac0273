// Fixtures while the program runs: files are reloaded when they change, a bad edit keeps the old ones, and session fixtures are added,
// shown and deleted.
import { afterAll, afterEach, describe, expect, test } from 'bun:test'
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { readForwarding } from '../../src/config/providers.ts'
import type { Config } from '../../src/config.ts'
import { FileError } from '../../src/schema/source.ts'
import { accepted } from '../support/accepted.ts'
import { createTestApp, type TestApp } from '../support/app.ts'
import { CHAT, MODEL, user } from '../support/chat.ts'
import { folderWith } from '../support/fixtures.ts'

const says = (content: string, user = 'hi') => `match: { user: ${user} }\nreply: { content: '${content}' }\n`
const MISS = 'fixture_not_found'
const open: (() => void | Promise<void>)[] = []
afterEach(async () => {
  for (const close of open.splice(0)) await close()
})

/** An application over a folder, with what it said on the terminal. */
function appOver(files: Record<string, unknown>) {
  const folder = folderWith(files)
  const told: string[] = []
  const app = createTestApp({ fixtures: [folder.path], on_unmatched: 'error' }, (error) => {
    if (!(error instanceof FileError)) throw error
    told.push(error.message)
  })
  open.push(app.close, folder.remove)
  return { app, folder, told, file: (path: string) => `${folder.path}/${path}` }
}

async function saidBy(app: TestApp, headers: Record<string, string> = {}, text = 'hi'): Promise<unknown> {
  const answer = await app.post(CHAT, { model: MODEL, ...user(text) }, headers)
  const { choices, error } = answer.json() as { choices?: { message: { content: string } }[]; error?: { code: string } }
  return choices?.[0]?.message.content ?? error?.code
}
/** Calls look at the files no more often than several times a second. */
async function until(wanted: unknown, ask: () => Promise<unknown>): Promise<void> {
  for (let left = 400; left > 0; left--) {
    if (Bun.deepEquals(await ask(), wanted)) return
    await Bun.sleep(25)
  }
  expect(await ask()).toEqual(wanted)
}
/** Looks at the files at once. */
async function healthOf(app: TestApp) {
  const { counts } = (await app.fetch('/_understudy/health')).json() as { counts: { fixtures: number } }
  const { problem } = (await app.fetch('/_understudy/fixtures')).json() as { problem: string | null }
  return { counts, fixtures: { problem } }
}

describe('fixture files while the server runs', () => {
  test('are reported as invalid in health without contents or names, because health needs no token', async () => {
    const { app, file } = appOver({ 'chat.completions/a.yaml': says('one') })
    const problem = async () =>
      ((await app.fetch('/_understudy/health')).json() as { fixtures: { problem: unknown } }).fixtures.problem
    expect(await problem()).toBeNull()
    writeFileSync(file('chat.completions/a.yaml'), 'match: { user: tell-nobody }\nreply:\n  tell-nobody: tell-nobody\n')
    expect(await problem()).toBe('files of fixtures have mistakes: GET /_understudy/fixtures lists them')
    expect((await app.fetch('/_understudy/health')).text).not.toMatch(/tell-nobody|a\.yaml/)
  })

  test('are reloaded after an edit, an addition and a deletion', async () => {
    const { app, file, told } = appOver({ 'chat.completions/a.yaml': says('one') })
    expect(await saidBy(app)).toBe('one')
    const { counts } = await healthOf(app)
    writeFileSync(file('chat.completions/a.yaml'), says('two or more'))
    await until('two or more', () => saidBy(app))
    writeFileSync(file('chat.completions/0.yaml'), says('first'))
    expect((await healthOf(app)).counts.fixtures).toBe(counts.fixtures + 1)
    expect(await saidBy(app)).toBe('first')
    rmSync(file('chat.completions/0.yaml'))
    expect((await healthOf(app)).counts.fixtures).toBe(counts.fixtures)
    expect(await saidBy(app)).toBe('two or more')
    expect(told).toEqual([])
  })

  test('can still change, be added and be deleted while another file is invalid', async () => {
    const { app, file, told } = appOver({
      'chat.completions/a.yaml': says('one', 'a'),
      'chat.completions/b.yaml': says('two', 'b'),
      'chat.completions/c.yaml': says('three', 'c'),
    })
    const said = () => Promise.all(['a', 'b', 'c', 'd'].map((text) => saidBy(app, {}, text)))
    const broken = async () => (await healthOf(app)).fixtures.problem
    expect(await said()).toEqual(['one', 'two', 'three', MISS])
    writeFileSync(file('chat.completions/a.yaml'), 'match: { user: a }\nreply:\n  contents: x\n')
    expect(await broken()).toMatch(/a\.yaml:3:3: .*contents/)
    writeFileSync(file('chat.completions/b.yaml'), says('two, edited', 'b'))
    rmSync(file('chat.completions/c.yaml'))
    writeFileSync(file('chat.completions/d.yaml'), says('four', 'd'))
    expect(await broken()).toMatch(/^\S*a\.yaml:3:3: .*contents/)
    expect(await said()).toEqual(['one', 'two, edited', MISS, 'four'])
    // A second broken one, which never was valid.
    writeFileSync(file('chat.completions/e.yaml'), 'reply: [')
    expect(await broken()).toMatch(/a\.yaml:3:3: [\s\S]*e\.yaml:1:/)
    expect(told).toHaveLength(2)
    writeFileSync(file('chat.completions/a.yaml'), says('mended', 'a'))
    expect(await broken()).toMatch(/^\S*e\.yaml:1:/)
    rmSync(file('chat.completions/e.yaml'))
    expect([await broken(), await said()]).toEqual([null, ['mended', 'two, edited', MISS, 'four']])
    expect(told).toHaveLength(2)
  })

  test('stay in use after an invalid edit, which is reported once and in health', async () => {
    const { app, file, told } = appOver({
      'chat.completions/a.yaml': says('one'),
      'chat.completions/b.yaml': says('b'),
    })
    expect((await healthOf(app)).fixtures.problem).toBeNull()
    writeFileSync(file('chat.completions/a.yaml'), 'match: { usr: hi }\nreply: { content: two }\n')
    const { problem } = (await healthOf(app)).fixtures
    expect(await saidBy(app)).toBe('one')
    expect((await healthOf(app)).fixtures.problem).toBe(problem)
    expect(problem).toContain('a.yaml:1:10: match.usr is not known')
    expect(told).toHaveLength(1)
    expect(told[0]).toContain(problem ?? '')
    expect(told[0]).toContain('the last valid version of this file stays active; all other files are up to date')
    writeFileSync(file('chat.completions/a.yaml'), says('three'))
    expect((await healthOf(app)).fixtures.problem).toBeNull()
    expect(await saidBy(app)).toBe('three')
  })

  test.skipIf(process.platform === 'win32')('exclude the temporary files of editors and tools', async () => {
    const { app, file, told } = appOver({
      'chat.completions/a.yaml': says('one'),
      'node_modules/x/package.json': {},
      '.git/config.yaml': 'x',
    })
    expect(await saidBy(app)).toBe('one')
    // As Emacs locks a file, and Vim keeps what is being written.
    symlinkSync('ada@here.4711:1', file('chat.completions/.#a.yaml'))
    writeFileSync(file('chat.completions/.a.yaml.swp'), 'x')
    writeFileSync(file('chat.completions/a.yaml~'), 'x')
    writeFileSync(file('chat.completions/.b.yaml'), 'x')
    expect((await healthOf(app)).fixtures.problem).toBeNull()
    writeFileSync(file('chat.completions/a.yaml'), says('two or more'))
    expect((await healthOf(app)).fixtures.problem).toBeNull()
    expect(await saidBy(app)).toBe('two or more')
    expect(told).toEqual([])
  })

  test('stay in use when the folder is gone, which is reported', async () => {
    const { app, folder, told } = appOver({ 'chat.completions/a.yaml': says('one') })
    expect(await saidBy(app)).toBe('one')
    rmSync(folder.path, { recursive: true })
    expect((await healthOf(app)).fixtures.problem).toContain('there is no such file or folder')
    expect(told).toHaveLength(1)
    expect(await saidBy(app)).toBe('one')
  })

  test('are reloaded when an image that they name changes', async () => {
    const files = [
      'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
      'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYAAAAAYAAjCB0C8AAAAASUVORK5CYII=',
    ]
    const { app, file, told } = appOver({ 'chat.completions/b.yaml': says('one') })
    mkdirSync(file('images.generations'))
    writeFileSync(
      file('images.generations/a.yaml'),
      JSON.stringify({ match: { user: 'hi' }, reply: { images: [{ file: 'a.png' }] } }),
    )
    expect((await healthOf(app)).fixtures.problem).toContain('"a.png" cannot be read')
    expect(told).toHaveLength(1)
    writeFileSync(file('images.generations/a.png'), Buffer.from(files[0] ?? '', 'base64'))
    const draw = async () => {
      const answer = await app.post('/v2/router/images/generations', { model: 'openai/gpt-image-1', prompt: 'hi' })
      return (answer.json() as { data?: { b64_json: string }[] }).data?.[0]?.b64_json
    }
    expect((await healthOf(app)).fixtures.problem).toBeNull()
    expect(await draw()).toBe(files[0])
    writeFileSync(file('images.generations/a.png'), Buffer.from(files[1] ?? '', 'base64'))
    expect((await healthOf(app)).fixtures.problem).toBeNull()
    expect(await draw()).toBe(files[1])
    rmSync(file('images.generations/a.png'))
    expect((await healthOf(app)).fixtures.problem).toContain('"a.png" cannot be read')
    expect(await draw()).toBe(files[1])
    writeFileSync(file('images.generations/a.png'), Buffer.from(files[0] ?? '', 'base64'))
    expect((await healthOf(app)).fixtures.problem).toBeNull()
    expect(await draw()).toBe(files[0])
  })
})

describe('session fixtures', () => {
  const shared = folderWith({ 'chat.completions/a.yaml': says('shared') })
  const app = createTestApp({ fixtures: [shared.path], on_unmatched: 'error', shipped_fixtures: true })
  afterAll(async () => {
    await app.close()
    shared.remove()
  })
  const path = '/_understudy/fixtures'
  const own = (content: string) => ({
    name: 'own',
    match: { operation: 'chat.completions', user: 'hi' },
    reply: { content },
  })
  const put = (body: unknown, session: string) =>
    app.fetch(path, {
      method: 'PUT',
      headers: { 'content-type': 'application/json', 'x-understudy-session': session },
      body: JSON.stringify(body),
    })
  const as = (session: string) => ({ 'x-understudy-session': session })

  test('are tried first, shown, and deleted', async () => {
    await accepted(app.post('/_understudy/sessions', { name: 'a' }))
    const given = await put([own('mine')], 'a')
    expect(given.status).toBe(200)
    const [first, second, third] = (given.json() as { data: unknown[] }).data
    expect(first).toEqual({
      name: 'own',
      operation: 'chat.completions',
      from: 'session',
      place: 'fixtures[0]',
      match: own('mine').match,
      replies: 1,
    })
    expect(second).toMatchObject({
      name: 'chat.completions/a',
      from: 'files',
      place: `${shared.path}/chat.completions/a.yaml:1:1`,
    })
    expect(third).toMatchObject({ from: 'shipped' })
    expect(await saidBy(app, as('a'))).toBe('mine')
    expect(await saidBy(app, as('b'))).toBe('shared')
    const shown = await app.fetch(path, { headers: as('a') })
    expect(shown.json()).toEqual(given.json())
    const gone = await app.fetch(path, { method: 'DELETE', headers: as('a') })
    expect((gone.json() as { data: unknown[] }).data).toEqual((given.json() as { data: unknown[] }).data.slice(1))
    expect(await saidBy(app, as('a'))).toBe('shared')
  })

  test('may be a single one, and for several operations', async () => {
    await put({ ...own('one'), match: { operation: ['chat.completions', 'responses'], user: 'hi' } }, 'c')
    expect(await saidBy(app, as('c'))).toBe('one')
    const response = await app.post('/v2/router/responses', { model: MODEL, input: 'hi' }, as('c'))
    expect(response.json()).toMatchObject({ output_text: 'one' })
    const shown = (await app.fetch(path, { headers: as('c') })).json() as { data: { operation: string }[] }
    expect(shown.data.slice(0, 2).map(({ operation }) => operation)).toEqual(['chat.completions', 'responses'])
  })

  test('start successive replies from the beginning when they are replaced', async () => {
    const replies = {
      name: 'row',
      match: { operation: 'chat.completions', user: 'hi' },
      replies: [{ content: 'a' }, { content: 'b' }],
    }
    for (let round = 0; round < 2; round++) {
      await put([replies], 'd')
      expect([await saidBy(app, as('d')), await saidBy(app, as('d')), await saidBy(app, as('d'))]).toEqual([
        'a',
        'b',
        'b',
      ])
    }
  })

  test('stay after a reset and are deleted with the session', async () => {
    await accepted(app.post('/_understudy/sessions', { name: 'e' }))
    await put([own('mine')], 'e')
    await accepted(app.post('/_understudy/sessions/e/reset', {}))
    expect(await saidBy(app, as('e'))).toBe('mine')
    await app.fetch('/_understudy/sessions/e', { method: 'DELETE' })
    expect(await saidBy(app, as('e'))).toBe('shared')
  })

  const wrong: [string, unknown, string, string][] = [
    ['a missing operation', [{ reply: { content: 'x' } }], 'fixtures[0]', 'needs match.operation'],
    [
      'an unknown field',
      [{ match: { operation: 'responses', usr: 'x' }, reply: { content: 'x' } }],
      'fixtures[0].match.usr',
      'is not known',
    ],
    [
      'an unknown name',
      { match: { operation: 'responses' }, reply: { content: '{{prompt.usr}}' } },
      'fixtures[0].reply.content',
      'prompt.usr',
    ],
    [
      'a file reference, which only fixture files may have',
      [{ match: { operation: 'images.generations' }, reply: { images: [{ file: '/etc/passwd' }] } }],
      'fixtures[0].reply.images[0].file',
      'only in fixture files',
    ],
    [
      'a broken regex',
      [own('x'), { match: { operation: 'responses', user: { regex: '(' } }, reply: { content: 'x' } }],
      'fixtures[1].match.user.regex',
      'must be a regular expression: missing )',
    ],
    ['a number in the list', [1], 'fixtures[0]', 'needs match.operation'],
  ]
  test.each(wrong)('reject %s and keep the previous ones', async (_, body, param, said) => {
    await put([own('mine')], 'f')
    const answer = await put(body, 'f')
    expect({ status: answer.status, error: answer.json().error }).toMatchObject({
      status: 400,
      error: { param, message: expect.stringContaining(said) },
    })
    expect(await saidBy(app, as('f'))).toBe('mine')
  })

  test('reject a text', async () => {
    const answer = await put('hello', 'g')
    expect({ status: answer.status, error: answer.json().error }).toMatchObject({
      status: 400,
      error: { message: expect.stringContaining('must be a fixture or a list of fixtures') },
    })
  })

  test('are not changed by an edit of the files', async () => {
    const { app: live, file } = appOver({ 'chat.completions/a.yaml': says('one') })
    const headers = { 'content-type': 'application/json', ...as('h') }
    await live.fetch(path, { method: 'PUT', headers, body: JSON.stringify(own('mine')) })
    writeFileSync(file('chat.completions/a.yaml'), says('two or more'))
    expect((await healthOf(live)).fixtures.problem).toBeNull()
    expect(await saidBy(live, as('h'))).toBe('mine')
    expect(await saidBy(live)).toBe('two or more')
  })
})

describe('session fixtures while calls are forwarded, recorded or replayed', () => {
  const mine = { name: 'mine', match: { operation: 'chat.completions' }, reply: { content: 'Hi!' } }
  const tool = { name: 'weather', match: { operation: 'agents.tools', tool: 'weather' }, reply: { result: 'sunny' } }

  /** The lines that are printed when these fixtures are added to two sessions. */
  async function noticesOf(fixtures: object[], backend: 'forward' | 'fixture', more: Partial<Config> = {}) {
    const notices: string[] = []
    const value = backend === 'forward' ? undefined : { openai: { backend: 'forward' }, groq: { backend: 'forward' } }
    const section = value && { value, locationOf: () => '' }
    const forwarding = readForwarding({ section, backend, environment: {} })
    const app = createTestApp({ clock: 'real', forwarding, ...more }, undefined, {
      notice: (line) => void notices.push(line),
    })
    open.push(app.close)
    const put = (session: string) =>
      app.fetch(`/s/${session}/_understudy/fixtures`, {
        method: 'PUT',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(fixtures),
      })
    expect([(await put('one')).status, (await put('two')).status]).toEqual([200, 200])
    return notices
  }

  test('are named once, with the calls to which they do not apply', async () => {
    const folder = folderWith({})
    open.push(folder.remove)
    const [record, replay] = [folder.path, folder.path]
    const text = (calls: string) => [`the fixtures of session one do not apply to ${calls}`]
    expect(await noticesOf([mine], 'forward')).toEqual(text('calls of models, which are forwarded'))
    expect(await noticesOf([mine], 'forward', { record })).toEqual(text('calls of models, which are recorded'))
    expect(await noticesOf([mine], 'fixture', { replay })).toEqual(text('calls to openai, groq, which are replayed'))
  })

  test('are not named where they apply', async () => {
    expect(await noticesOf([tool], 'forward')).toEqual([])
    expect(await noticesOf([], 'forward')).toEqual([])
    const notices: string[] = []
    const app = createTestApp({}, undefined, { notice: (line) => void notices.push(line) })
    open.push(app.close)
    await app.fetch('/_understudy/fixtures', {
      method: 'PUT',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify([mine]),
    })
    expect(notices).toEqual([])
  })
})
