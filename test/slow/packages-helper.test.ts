// @understudy/test without a runner: which server it starts, its errors, what a session offers, its types.
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { makeProject, type Project } from '../support/packages.ts'
import { emptyFolder, startServer } from '../support/server.ts'

const FIXTURE = 'match: { user: Ping }\nreply: { content: Pong. }\n'
const PRELUDE = `
import { openSession, startUnderstudy, stableTraces, findExecutable } from '@understudy/test'
const ask = async ({ baseURL, apiKey }, content) => {
  const headers = { authorization: 'Bearer ' + apiKey, 'content-type': 'application/json' }
  const body = JSON.stringify({ model: 'openai/gpt-4o', messages: [{ role: 'user', content }] })
  return (await fetch(baseURL + '/chat/completions', { method: 'POST', headers, body })).json()
}
const print = (value) => console.log('=> ' + JSON.stringify(value))
`
let project: Project
beforeAll(async () => {
  project = await makeProject({ 'fixtures/chat.completions/ping.yaml': FIXTURE }, [])
})

/** Runs a module in the project; gives the lines of JSON that it printed. */
async function module(text: string, env: Record<string, string> = {}, runtime = 'node') {
  const { code, said } = await project.run([runtime, '--input-type=module', '--eval', `${PRELUDE}${text}`], env)
  return { code, said, values: [...said.matchAll(/^=> (.*)$/gm)].map(([, line = '']) => JSON.parse(line)) }
}

describe('test helper server', () => {
  test('runs once for a process, has the requested files, and ends with the process', async () => {
    const { values } = await module(`
      const server = await startUnderstudy({ fixtures: 'fixtures' })
      print(server === (await startUnderstudy()))
      print(server.url)
      const { understudy } = await openSession({ title: 'x' })
      print((await ask(understudy, 'Ping')).choices[0].message.content)`)
    expect(values).toEqual([true, expect.any(String), 'Pong.'])
    // Its input has ended with the process, which has not stopped it.
    await gone(values[1])
  })
  test('uses UNDERSTUDY_URL and keeps a session that was named', async () => {
    const folder = emptyFolder()
    // As one that stands behind a balancer with others.
    const server = await startServer(['--db', ':memory:', '--instance-strict'], { cwd: folder.path })
    afterAll(async () => {
      await server.stop()
      folder.remove()
    })
    const sessions = async () =>
      (await (await fetch(`${server.url}/_understudy/sessions`)).json()).data.map(({ name }: { name: string }) => name)
    const use = "const s = await openSession({ title: 'mine' }); await ask(s.understudy, 'Hi'); await s.close(false)"
    await module(use, { UNDERSTUDY_URL: server.url })
    expect(await sessions()).toEqual(['default'])
    await module(use, { UNDERSTUDY_URL: server.url, UNDERSTUDY_TOKEN: 'session:default' })
    expect(await sessions()).toEqual(['default', expect.stringMatching(/^mine-/)])
    const { said } = await module("await startUnderstudy({ fixtures: 'fixtures' })", { UNDERSTUDY_URL: server.url })
    expect(said).toContain("was called with 'fixtures', but UNDERSTUDY_URL names a running server")
  })
  const MISTAKES: [string, string, Record<string, string>, RegExp][] = [
    [
      'a missing executable',
      'findExecutable()',
      { UNDERSTUDY_BIN: '' },
      /UNDERSTUDY_BIN: not set\n.*not installed.*\n.*npm run build/,
    ],
    [
      'an invalid option',
      "findExecutable('./nowhere')",
      {},
      /'executable' names the executable "\.\/nowhere", which does not exist/,
    ],
    [
      'an invalid variable',
      'findExecutable()',
      { UNDERSTUDY_BIN: '/no/such/understudy' },
      /UNDERSTUDY_BIN names the executable "\/no\/such\/understudy"/,
    ],
    ['another program', 'await startUnderstudy()', { UNDERSTUDY_BIN: '/bin/false' }, /did not start \(\/bin\/false\)/],
    [
      'an invalid folder',
      "await startUnderstudy({ fixtures: 'fixturs' })",
      {},
      /fixturs: there is no such file or folder/,
    ],
    [
      'a misspelled option',
      "await startUnderstudy({ fixture: 'fixtures' })",
      {},
      /startUnderstudy\(\) has no option 'fixture'; valid: fixtures, scenario, seedFile, clock, executable, args/,
    ],
    [
      'a misspelled expectation',
      "await (await openSession({ title: 'x' })).understudy.verify({ expects: [{ calls: 9 }] })",
      {},
      /verify\(\) has no option 'expects'; valid: expect, wait, ended, strict, allowInconclusive/,
    ],
    [
      'two different sets of options',
      "await startUnderstudy({ clock: 'real' }); await startUnderstudy({ seedFile: 'none' })",
      {},
      /was first called with \{"clock":"real"\}, and then with/,
    ],
    [
      'a missing server',
      'await openSession({ title: "x" })',
      { UNDERSTUDY_URL: 'http://127.0.0.1:9' },
      /no Understudy server responds at http:\/\/127\.0\.0\.1:9/,
    ],
  ]
  test.each(MISTAKES)('reports %s', async (_, text, env, message) => {
    const { code, said } = await module(text, env)
    expect(code).toBe(1)
    expect(said).toMatch(message)
  })
})

describe('invalid fixture in the test helper', () => {
  const broken = () => join(project.path, 'fixtures', 'chat.completions', 'broken.yaml')
  const write = (text: string) => writeFileSync(broken(), text)
  test('fails the run from the beginning', async () => {
    write('match: { user: Ping }\nreply: { contents: Pong. }\n')
    const { code, said } = await module("await startUnderstudy({ fixtures: 'fixtures' })")
    rmSync(broken())
    expect(code).toBe(1)
    expect(said).toMatch(/the server did not start.*broken\.yaml:2:.*contents/)
  })
  test('fails the run when it can never answer', async () => {
    write(FIXTURE)
    const { code, said } = await module("await startUnderstudy({ fixtures: 'fixtures' })")
    rmSync(broken())
    expect(code).toBe(1)
    expect(said).toContain('can never match')
  })
  test('fails the run when it can never answer and standard error comes late', async () => {
    const folder = emptyFolder()
    const late = join(folder.path, 'late')
    const ready = JSON.stringify({ url: 'http://127.0.0.1:9', warnings: ['a can never answer'] })
    writeFileSync(late, `#!/bin/sh\necho '${ready}'\nexec cat >/dev/null\n`, { mode: 0o755 })
    const { code, said } = await module('await startUnderstudy()', { UNDERSTUDY_BIN: late })
    folder.remove()
    expect(code).toBe(1)
    expect(said).toContain('a can never answer')
  })
  test('fails the run when it becomes invalid while the server runs', async () => {
    const { code, said } = await module(`
      import { writeFileSync } from 'node:fs'
      await startUnderstudy({ fixtures: 'fixtures' })
      await openSession({ title: 'before' })
      writeFileSync(${JSON.stringify(broken())}, 'match: { user: [ }')
      await openSession({ title: 'after' })`)
    rmSync(broken())
    expect(code).toBe(1)
    expect(said).toMatch(/invalid fixture files: .*broken\.yaml:1:\d+: .*flow/i)
  })
})

describe('test helper session', () => {
  test('has every method of the test fixture', async () => {
    const { said, values } = await module(`
      const { understudy, close } = await openSession({ title: 'all of it' })
      await understudy.fixtures({ match: { operation: 'chat.completions' }, reply: { content: 'Mine.' } })
      await understudy.scenario({ name: 'once', rules: [{ name: 'first', at: 'gateway', when: { calls: 1 }, fault: { type: 'http-error', status: 429, retry_after: 5 } }] })
      print((await ask(understudy, 'Hi')).error.type)
      const before = await understudy.clock.now()
      await understudy.clock.advance('5s')
      print((await understudy.clock.now()) - before >= 5000)
      print((await ask(understudy, 'Hi')).choices[0].message.content)
      print((await understudy.traces()).map(({ status }) => status))
      print((await understudy.verify({ expect: [{ retry_after_honored: true }] })).ok)
      await understudy.seed({ contacts: [{ external_id: 'ada', display_name: 'Ada' }] })
      print([understudy.baseURL, understudy.routerURL, understudy.url, understudy.apiKey].map((text) => text.replace(/:\\d+\\//, ':0/')))
      await understudy.verify({ expect: [{ attempts: '9+' }] }).catch(({ message }) => print(message))
      await understudy.scenario({ name: 'later', rules: [{ name: 'far', when: { calls: 99 }, fault: { type: 'http-error', status: 503 } }] })
      await ask(understudy, 'Hi')
      await understudy.verify().catch(({ message }) => print(message))
      print((await understudy.verify({ allowInconclusive: true })).verdict)
      await close(false)
      await understudy.traces().then(print, ({ message }) => print(message))`)
    const session = 'all-of-it-'
    expect(said).not.toContain('    at ')
    expect(values.slice(0, 5)).toEqual(['requests', true, 'Mine.', [429, 200], true])
    expect(values[5].map((text: string) => text.replace(/-[0-9a-f]{8}/, '-'))).toEqual([
      `http://127.0.0.1:0/s/${session}/v1`,
      `http://127.0.0.1:0/s/${session}/v2/router`,
      `http://127.0.0.1:0/s/${session}`,
      `session:${session}`,
    ])
    expect(values[6]).toMatch(/^FAIL: session all-of-it-\w+:\n {2}- expected .*9.*; actual: /)
    expect(values[7]).toMatch(/^INCONCLUSIVE: session all-of-it-\w+: no fault was injected\. .*allowInconclusive: true/)
    expect(values[8]).toBe('inconclusive')
    expect(values).toHaveLength(10)
  })
  test('has traces with a stable form whatever the session', async () => {
    const { values } = await module(`
      const stable = async (title) => {
        const { understudy } = await openSession({ title })
        await ask(understudy, 'Hi'); await ask(understudy, 'And again?')
        return stableTraces(await understudy.traces())
      }
      print(await stable('one')); print(await stable('two'))`)
    expect(values[0]).toEqual(values[1])
    expect(values[0]).toHaveLength(2)
    expect(JSON.stringify(values[0])).toMatch(/"id":"[^"]*<id 1>".*"created":"<time>"/)
  })
  test('has only its own calls in twenty parallel tests', async () => {
    const { values } = await module(`
      const sessions = await Promise.all(Array.from({ length: 20 }, () => openSession({ title: 'the same' })))
      await Promise.all(sessions.map(({ understudy }, index) => ask(understudy, 'number ' + index)))
      print(new Set(sessions.map(({ understudy }) => understudy.session)).size)
      print(await Promise.all(sessions.map(async ({ understudy }) => (await understudy.traces()).map(({ request }) => request.messages[0].content))))`)
    expect(values).toEqual([20, Array.from({ length: 20 }, (_, index) => [`number ${index}`])])
  })
})

/** Waits until nothing answers at an address. */
async function gone(url: string): Promise<void> {
  const answers = () =>
    fetch(`${url}/_understudy/health`).then(
      () => true,
      () => false,
    )
  while (await answers()) await Bun.sleep(20)
}

test('test helper types: are found and describe what a test receives', async () => {
  const typed = await makeProject(
    {
      'tsconfig.json': JSON.stringify({
        compilerOptions: {
          module: 'nodenext',
          target: 'es2023',
          strict: true,
          noEmit: true,
          types: ['node', 'bun-types'],
          skipLibCheck: true,
        },
      }),
      'right.mts': `
        import { test as v } from '@understudy/test/vitest'
        import { test as j } from '@understudy/test/jest'
        import { test as b } from '@understudy/test/bun'
        import { test as n } from '@understudy/test/node'
        import { test as p } from '@understudy/test/playwright'
        import { type Understudy, startUnderstudy } from '@understudy/test'
        const use = async (understudy: Understudy) => { const url: string = understudy.baseURL; await startUnderstudy({ clock: 'real' }) }
        v('a', async ({ understudy }) => use(understudy))
        j('a', async ({ understudy }) => use(understudy))
        b.each([['x', 1]] as [string, number][])('a', async (name, count, { understudy }) => { name.length; count.toFixed(); await use(understudy) })
        n('a', async ({ understudy, name }) => { name.length; await use(understudy) })
        p('a', async ({ understudy, page }) => { page.url(); await use(understudy) })`,
      'wrong.mts':
        "import { test } from '@understudy/test/vitest'\ntest('a', ({ understudy }) => { understudy.nothing() })",
    },
    ['typescript', 'vitest', '@jest/globals', '@playwright/test', '@types/node', 'bun-types'],
  )
  const tsc = join(import.meta.dir, '../../node_modules/typescript/bin/tsc')
  // It ends before collecting garbage would pay.
  const { code, said } = await typed.run([process.execPath, tsc, '-p', '.', '--checkers', '1'], { GOGC: 'off' })
  expect(code).not.toBe(0)
  expect(said.split('\n').filter((line) => line.includes('error'))).toEqual([
    expect.stringContaining("wrong.mts(2,44): error TS2339: Property 'nothing' does not exist on type 'Understudy'"),
  ])
})
