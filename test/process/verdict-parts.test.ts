// A reset, a deletion, a snapshot or another scenario removes no evidence: what a session contained is judged before.
import { afterAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { junit } from '../../src/cli/print/junit.ts'
import { runLines } from '../../src/cli/print/report.ts'
import type { Verification } from '../../src/contract/core/verification.ts'
import { createEarlierVerdicts } from '../../src/control/earlier.ts'
import { earlierNotices } from '../../src/verdict/notices.ts'
import { createTestApp } from '../support/app.ts'
import { CHAT, user } from '../support/chat.ts'
import { plainLines } from '../support/cli.ts'
import { play } from '../support/exec.ts'

// Each run of exec starts a program, on a machine that may be busy.
setDefaultTimeout(60_000)

const DOWN = `
name: down
clock: virtual
rules:
  - { name: bad, when: { calls: 1-40 }, fault: { type: http-error, status: 503 } }
`
/** A program: its own calls, with what it has to make them. */
const program = (code: string): string[] => [
  process.execPath,
  '-e',
  `const base = process.env.UNDERSTUDY_URL
  const send = async (method, path, body, key = process.env.OPENAI_API_KEY) => {
    const headers = { authorization: 'Bearer ' + key, 'content-type': 'application/json' }
    const answer = await fetch(base + path, { method, headers, ...(body && { body: JSON.stringify(body) }) })
    await answer.arrayBuffer()
    return answer.status
  }
  const chat = (content = 'hello', key) =>
    send('POST', '/v1/chat/completions', { model: 'gpt-4o', messages: [{ role: 'user', content }] }, key)
  const storm = async (key) => { for (let turn = 0; turn < 40; turn++) await chat('hello', key) }
  const careful = async (key) => { while ((await chat('hello', key)) !== 200) await Bun.sleep(400) }
  ${code}`,
]
const kindsOf = (run: { sessions: readonly Verification[] }) =>
  run.sessions.map(({ findings }) => findings.filter(({ accepted }) => !accepted).map(({ kind }) => kind))

describe('exec with several parts', () => {
  const SCENARIO = {
    name: 'mild',
    rules: [{ name: 'one', when: { calls: 1 }, fault: { type: 'http-error', status: 503 } }],
  }
  test.each([
    ['a reset', "await storm(); await send('POST', '/_understudy/reset', {})", 'reset'],
    ['a reset of all sessions', "await storm(); await send('POST', '/_understudy/reset?all=true', {})", 'reset'],
    [
      'a snapshot that was loaded',
      "await storm(); await send('POST', '/_understudy/snapshot', { understudy_snapshot: 1, tables: {} })",
      'snapshot',
    ],
    [
      'another scenario',
      `await storm(); await send('PUT', '/_understudy/scenario', ${JSON.stringify(SCENARIO)})`,
      'scenario',
    ],
    [
      'the deletion of a session',
      "await storm('session:mine'); await send('DELETE', '/_understudy/sessions/mine')",
      'deletion',
    ],
  ])('reports a retry storm before %s with exit code 3', async (_, code, why) => {
    const { run, code: exit } = await play(program(code), DOWN)
    expect({ exit, verdict: run.verdict, findings: run.findings }).toEqual({ exit: 3, verdict: 'fail', findings: [] })
    expect(run.sessions).toMatchObject([{ calls: 40, verdict: 'fail', part: 1, ended_by: why }])
    expect(kindsOf(run)[0]).toContain('retry-storm')
    expect(plainLines(runLines(run)).join('\n')).toMatch(
      /error {9}retry-storm: the same failing request \(status \d+\) was sent 40 times/,
    )
    expect(junit([run])).toMatch(/name="session [^"]+ \(part 1, before [^"]+\)"[^>]*><failure message="retry-storm/)
  })

  test('judges each part by itself, and the last one by its final state', async () => {
    const { run, code } = await play(
      program("await careful(); await send('POST', '/_understudy/reset', {}); await storm()"),
      DOWN.replace('1-40', '1-2').replace('name: down', 'name: short'),
    )
    // After the reset the rule hits two calls, and the storm is of calls that are answered.
    expect({ code, parts: run.sessions.map(({ part, calls, verdict }) => [part, calls, verdict]) }).toEqual({
      code: 0,
      parts: [
        [1, 3, 'pass'],
        [undefined, 40, 'pass'],
      ],
    })
  })

  test('passes a suite that resets after each test, with its faults injected', async () => {
    const { run, code } = await play(
      program("for (let test = 0; test < 5; test++) { await careful(); await send('POST', '/_understudy/reset', {}) }"),
      DOWN.replace('1-40', '1'),
    )
    expect({ code, verdict: run.verdict, inconclusive: run.inconclusive }).toEqual({
      code: 0,
      verdict: 'pass',
      inconclusive: [],
    })
    expect(run.sessions.map(({ calls, part }) => [calls, part])).toEqual([1, 2, 3, 4, 5].map((part) => [2, part]))
  })

  test('adds no part for a reset of an unused session', async () => {
    const { run } = await play(
      program("await send('POST', '/_understudy/reset', {}); await careful()"),
      DOWN.replace('1-40', '1'),
    )
    expect(run.sessions.map(({ calls, part }) => [calls, part])).toEqual([[2, undefined]])
  })

  test('judges workspace calls before a reset too', async () => {
    const rules = `
name: down
rules:
  - { name: bad, at: workspace, match: { operation: '*' }, when: { calls: 1 }, fault: { type: http-error, status: 503 } }
`
    const { run, code } = await play(
      program("await send('GET', '/v2/datasets'); await send('POST', '/_understudy/reset', {})"),
      rules,
    )
    expect({ code, kinds: kindsOf(run) }).toEqual({ code: 3, kinds: [['gave-up']] })
  })
})

describe('verify with several parts', () => {
  const app = createTestApp()
  afterAll(app.close)
  const json = { 'content-type': 'application/json' }
  const inSession = (session: string) => {
    const headers = { ...json, authorization: `Bearer session:${session}` }
    const send = (method: string, path: string, body?: object) =>
      app.fetch(path, { method, headers, ...(body && { body: JSON.stringify(body) }) })
    return {
      send,
      fails: (calls = 1) =>
        send('PUT', '/_understudy/scenario', {
          name: 'down',
          rules: [{ name: 'bad', when: { calls }, fault: { type: 'http-error', status: 503 } }],
        }),
      call: (content = 'hello') => send('POST', CHAT, { model: 'openai/gpt-4o', ...user(content) }),
      verdict: async () => (await send('GET', '/_understudy/verify')).json() as unknown as Verification,
    }
  }

  test('returns the verdict before a reset beside the current one', async () => {
    const { fails, call, send, verdict } = inSession('helper')
    await fails()
    await call()
    await send('POST', '/_understudy/reset', {})
    await call('one')
    await call('one')
    const report = await verdict()
    // The scenario begins anew as well: the first call is hit, the second is its retry.
    expect(report).toMatchObject({ verdict: 'pass', ok: true, calls: 2 })
    expect(report.earlier).toMatchObject([
      {
        part: 1,
        ended_by: 'reset',
        verdict: 'fail',
        calls: 1,
        order: [],
        findings: [{ kind: 'gave-up', severity: 'error' }],
      },
    ])
    expect(report.notices).toEqual([
      'part 1 of the session, before a reset, failed (1 call; gave-up) and is not part of this verdict: see `earlier`',
    ])
  })

  test('keeps what a deleted session of the same name contained', async () => {
    const { fails, call, send, verdict } = inSession('again')
    await fails()
    await call()
    await send('DELETE', '/_understudy/sessions/again')
    expect((await verdict()).earlier).toMatchObject([{ part: 1, ended_by: 'deletion', calls: 1 }])
    await call()
    await send('POST', '/_understudy/reset', {})
    expect((await verdict()).earlier.map(({ part, verdict: of }) => [part, of])).toEqual([
      [1, 'fail'],
      [2, 'pass'],
    ])
  })

  test('starts no part for a rejected deletion or snapshot', async () => {
    const { fails, call, send } = inSession('default')
    await fails()
    await call()
    expect((await send('DELETE', '/_understudy/sessions/default')).status).toBe(400)
    const broken = { understudy_snapshot: 1, tables: { records: [{ nothing: 1 }] } }
    expect((await send('POST', '/_understudy/snapshot', broken)).status).toBe(400)
    expect((await inSession('default').verdict()).earlier).toEqual([])
  })

  test('keeps failed parts when there are very many', async () => {
    const { fails, call, verdict } = inSession('many')
    await call()
    let judged = await verdict()
    const passed = judged
    await fails()
    await call()
    judged = await verdict()
    const session = app.understudy.sessions.get('many')
    const parts = createEarlierVerdicts(() => judged)
    for (let part = 0; part < 1_005; part++) {
      parts.before(session, 'reset')()
      judged = passed
    }
    const earlier = parts.of('many')
    expect(earlier).toHaveLength(1_000)
    expect(earlier[0]).toMatchObject({ part: 1, verdict: 'fail' })
    expect(earlierNotices(earlier, parts.forgotten('many')).join()).toMatch(
      /,5 verdicts on earlier parts of the session were dropped/,
    )
  })
})
