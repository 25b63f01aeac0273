// UNDERSTUDY_CLOCK_URL: a test moves the clock of its run in one line, without a token.
import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { play } from '../support/exec.ts'

const OUTAGE = `name: outage
clock: virtual
rules:
  - name: the outage
    when: { schedule: [{ phase: down, for: 10m }, { phase: healthy }] }
    fault: { type: http-error, status: 503 }
`
const docs = readFileSync(join(import.meta.dir, '..', '..', 'docs', 'testing.md'), 'utf8')
const LINE = /`(await fetch\(process\.env\.UNDERSTUDY_CLOCK_URL[^`]*)`/.exec(docs)?.[1] ?? ''

/** Runs a script, which gives what it found by its exit code: 0 for what it expects. */
const script = (text: string, scenario = OUTAGE, token: string[] = []) =>
  play(
    [
      process.execPath,
      '-e',
      `const call = async () => (await fetch(process.env.OPENAI_BASE_URL + '/chat/completions', {
        method: 'POST',
        headers: { authorization: 'Bearer ' + process.env.OPENAI_API_KEY, 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'gpt-4o', messages: [{ role: 'user', content: 'Hello!' }] }),
      })).status
      const move = async (search, change, headers = {}) => {
        const answer = await fetch(process.env.UNDERSTUDY_CLOCK_URL + search, { method: 'POST', body: JSON.stringify(change), headers })
        return [answer.status, (await answer.json()).error?.message ?? '']
      }
      const expect = (value, wanted) => {
        if (JSON.stringify(value) === JSON.stringify(wanted) || wanted.test?.(value)) return
        console.error(value)
        process.exit(9)
      }
      ${text}`,
    ],
    scenario,
    { token },
  )

test('clock URL: skips a ten-minute outage with the documented line', async () => {
  expect(LINE).not.toBe('')
  const text = `expect(await call(), 503); ${LINE}; expect(await call(), 200)`
  expect((await script(text)).run.code).toBe(0)
  // Where the program itself needs a token, the clock needs none.
  expect((await script(text, OUTAGE, ['secret'])).run.code).toBe(0)
})

// What Node's fetch, curl and Python's urllib say of a body when nobody tells them.
const types = ['text/plain;charset=UTF-8', 'application/x-www-form-urlencoded', 'application/json']
test.each(types)('clock URL: accepts a body of type %s', async (type) => {
  const text = `expect(await move('', { advance: '10m' }, { 'content-type': '${type}' }), [200, '']); expect(await call(), 200)`
  expect((await script(text)).run.code).toBe(0)
})

test('clock URL: moves the session of the run with an empty ?session', async () => {
  const { run } = await script(
    "expect(await move('?session=', { advance: '10m' }), [200, '']); expect(await call(), 200)",
  )
  expect([run.code, run.sessions.flatMap(({ unknown_paths }) => unknown_paths)]).toEqual([0, []])
})

test('clock URL: moves another session with ?session', async () => {
  const text = `
    const headers = { authorization: 'Bearer any', 'content-type': 'application/json' }
    await fetch(process.env.UNDERSTUDY_URL + '/_understudy/sessions', { method: 'POST', headers, body: '{"name":"other","clock":"virtual"}' })
    expect(await move('?session=other', { advance: '10m' }), [200, ''])
    expect(await call(), 503)`
  expect((await script(text)).run.code).toBe(0)
})

const mistakes: [string, string, string][] = [
  ['an unknown session', `move('?session=nobody', { advance: '10m' })`, 'nobody'],
  ['an invalid duration', `move('', { advance: 'soon' })`, 'advance'],
  [
    'an unknown name in the query',
    `move('?sesion=a', { advance: '10m' })`,
    "^'sesion' is not known \\(did you mean 'session'\\?\\); valid: session$",
  ],
  ['two sessions', `move('?session=a&session=b', { advance: '10m' })`, "^'session' must be given once, got .*a.*b"],
  ['a page of another origin', `move('', { advance: '10m' }, { origin: 'https://evil.example' })`, 'a page of'],
]
test.each(mistakes)('clock URL: rejects %s with a reason', async (_, call, said) => {
  const { run } = await script(
    `const [status, message] = await ${call}; expect(status >= 400, true); expect(message, /${said}/)`,
  )
  expect(run.code).toBe(0)
})

test('clock: rejects changes of a real clock', async () => {
  const text = `const [status, message] = await move('', { advance: '10m' }); expect(status, 400); expect(message, /is real and cannot be changed/)`
  expect((await script(text, OUTAGE.replace('virtual', 'real'))).run.code).toBe(0)
})
