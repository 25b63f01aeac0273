// A reset, a deletion, a snapshot or another scenario removes no evidence: what a session contained is judged before.
import { afterAll, describe, expect, test } from 'bun:test'
import { junit } from '../../src/cli/print/junit.ts'
import { runLines } from '../../src/cli/print/report.ts'
import type { Verification } from '../../src/contract/core/verification.ts'
import { createEarlierVerdicts } from '../../src/control/earlier.ts'
import { earlierNotices } from '../../src/verdict/notices.ts'
import { createTestApp } from '../support/app.ts'
import { CHAT, user } from '../support/chat.ts'
import { plainLines } from '../support/cli.ts'
import { play } from '../support/exec.ts'
import { type Program, pass } from '../support/programs/surroundings.ts'

const DOWN = `
name: down
clock: virtual
rules:
  - { name: bad, when: { calls: 1-40 }, fault: { type: http-error, status: 503 } }
`
/** The same with a wait that a client who calls at once does not honor, however busy the machine is. */
const WAIT = DOWN.replace('status: 503', 'status: 429, retry_after: 1m')
/** What a program does with its server. */
interface Client {
  send(method: string, path: string, body?: object, key?: string): Promise<number>
  /** Repeats a call at once, whatever the answer is. */
  storm(key?: string): Promise<void>
  /** Repeats a call after pauses, until it is answered. */
  careful(): Promise<void>
}
/** A program, as a function of this process: on a busy machine, one of its own would make pauses where it makes none. */
const program =
  (act: (client: Client) => Promise<unknown>): Program =>
  async (about) => {
    const { env, fetch } = about
    const send: Client['send'] = async (method, path, body, key = env.OPENAI_API_KEY) => {
      const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
      const sent = { method, headers, ...(body && { body: JSON.stringify(body) }) }
      const answer = await fetch(`${env.UNDERSTUDY_URL}${path}`, sent)
      await answer.arrayBuffer()
      return answer.status
    }
    const chat = (key?: string) => send('POST', '/v1/chat/completions', { model: 'gpt-4o', ...user('hello') }, key)
    await act({
      send,
      async storm(key) {
        for (let turn = 0; turn < 40; turn++) await chat(key)
      },
      async careful() {
        while ((await chat()) !== 200) await pass(about, 400)
      },
    })
  }
const reset = ({ send }: Client) => send('POST', '/_understudy/reset', {})
const kindsOf = (run: { sessions: readonly Verification[] }) =>
  run.sessions.map(({ findings }) => findings.filter(({ accepted }) => !accepted).map(({ kind }) => kind))

describe('exec with several parts', () => {
  const SCENARIO = {
    name: 'mild',
    rules: [{ name: 'one', when: { calls: 1 }, fault: { type: 'http-error', status: 503 } }],
  }
  test.each<[string, (client: Client) => Promise<unknown>, string]>([
    ['a reset', (client) => client.storm().then(() => reset(client)), 'reset'],
    [
      'a reset of all sessions',
      ({ send, storm }) => storm().then(() => send('POST', '/_understudy/reset?all=true', {})),
      'reset',
    ],
    [
      'a snapshot that was loaded',
      ({ send, storm }) =>
        storm().then(() => send('POST', '/_understudy/snapshot', { understudy_snapshot: 1, tables: {} })),
      'snapshot',
    ],
    [
      'another scenario',
      ({ send, storm }) => storm().then(() => send('PUT', '/_understudy/scenario', SCENARIO)),
      'scenario',
    ],
    [
      'the deletion of a session',
      ({ send, storm }) => storm('session:mine').then(() => send('DELETE', '/_understudy/sessions/mine')),
      'deletion',
    ],
  ])('reports calls that do not wait before %s with exit code 3', async (_, act, why) => {
    const { run, code: exit } = await play(program(act), WAIT)
    expect({ exit, verdict: run.verdict, findings: run.findings }).toEqual({ exit: 3, verdict: 'fail', findings: [] })
    expect(run.sessions).toMatchObject([{ calls: 40, verdict: 'fail', part: 1, ended_by: why }])
    expect(kindsOf(run)[0]).toContain('early-retry')
    expect(plainLines(runLines(run)).join('\n')).toMatch(/error {9}early-retry: /)
    expect(junit([run])).toMatch(
      /name="session [^"]+ \(part 1, before [^"]+\)"[^>]*><failure message="[^"]*early-retry/,
    )
  })

  test('judges each part by itself, and the last one by its final state', async () => {
    const { run, code } = await play(
      program((client) =>
        client
          .careful()
          .then(() => reset(client))
          .then(() => client.storm()),
      ),
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
      program(async (client) => {
        for (let test = 0; test < 5; test++) {
          await client.careful()
          await reset(client)
        }
      }),
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
      program((client) => reset(client).then(() => client.careful())),
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
      program((client) => client.send('GET', '/v2/datasets').then(() => reset(client))),
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
