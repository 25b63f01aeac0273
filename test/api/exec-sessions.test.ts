// exec and the sessions of its command: each has the scenario to itself and is judged by name.
import { describe, expect, test } from 'bun:test'
import { runLines } from '../../src/cli/print/report.ts'
import { plainLines } from '../support/cli.ts'
import { play } from '../support/exec.ts'
import { client } from '../support/in-process.ts'
import type { Program } from '../support/programs/surroundings.ts'

/** Two refusals in each session. */
const BURST = `
name: burst
clock: virtual
rules:
  - name: two refusals
    match: { provider: openai }
    when: { calls: 1-2 }
    fault: { type: http-error, status: 429, retry_after: 1s }
expect:
  - { provider: openai, status: 429, attempts: 2 }
  - { provider: openai, outcome: succeeded, attempts: 1 }
`

/** A call that gets this 401 has reached its session. */
const UNAUTHORIZED = `
name: unauthorized
rules:
  - { name: no key, fault: { type: http-error, status: 401 } }
accept: [gave-up]
`

describe.concurrent('sessions under exec', () => {
  test('have their own rule counters and verdicts in parallel tests', async () => {
    const { code, run: played } = await play(client('openai', 'sessions', '3'), BURST)
    // They begin side by side, so any of them may be the first.
    expect(played.sessions.map(({ session, calls }) => [session, calls]).sort()).toEqual([
      ['worker-1', 3],
      ['worker-2', 3],
      ['worker-3', 3],
    ])
    expect(played.sessions.every(({ ok }) => ok)).toBe(true)
    expect(code).toBe(0)
    const lines = plainLines(runLines(played))
    expect(lines[0]).toBe('Understudy: burst: PASS')
    expect(lines).toContain('  rule          two refusals (http-error): matched 9, injected 6')
    expect(lines).toContain('  session       worker-2: PASS, 3 calls')
  })

  test('are all judged, however many there are', async () => {
    const { code, run: played } = await play(client('openai', 'sessions', '120'), BURST)
    expect(played.sessions.map(({ calls }) => calls)).toEqual(Array.from({ length: 120 }, () => 3))
    expect(code).toBe(0)
  })

  const calling =
    (...sessions: string[]): Program =>
    async ({ env, fetch }) => {
      for (const session of sessions)
        await fetch(`${env.OPENAI_BASE_URL}/chat/completions`, {
          method: 'POST',
          headers: {
            authorization: `Bearer ${env.OPENAI_API_KEY}`,
            'content-type': 'application/json',
            'x-understudy-session': session,
          },
          body: JSON.stringify({ model: 'gpt-4o', messages: [{ role: 'user', content: 'Hi' }] }),
        })
      return 0
    }

  test('are no sessions with an invalid name: its calls are counted, and the run is inconclusive', async () => {
    for (const others of [[], ['fine']]) {
      const { code, run } = await play(calling(...others, 'a!b', 'c d', 'a!b'))
      expect(run.refused).toEqual([
        {
          code: 'invalid_session',
          message: expect.stringContaining('session name "a!b" must be 1 to 110'),
          count: 3,
          for_session: true,
        },
      ])
      expect([code, run.verdict]).toEqual([3, 'inconclusive'])
      expect(run.inconclusive).toContainEqual(
        expect.stringMatching(/^3 calls reached no session: session name "a!b" must/),
      )
      expect(plainLines(runLines(run)).join('\n')).toContain(
        '  refused       3 calls reached no session: session name "a!b" must be 1 to 110',
      )
      expect(run.sessions.map(({ calls }) => calls)).toEqual([others.length])
    }
    expect((await play(calling('fine'))).run.refused).toEqual([])
  })

  test('are refused beyond --max-sessions, and their calls counted', async () => {
    const { run } = await play(calling('a', 'b', 'b'), undefined, { maxSessions: 3 })
    expect(run.refused).toEqual([
      {
        code: 'session_limit',
        message: expect.stringContaining('as many as --max-sessions allows'),
        count: 2,
        for_session: true,
      },
    ])
  })

  const completions = '/chat/completions'
  /** Calls with these headers in addition to the content type. */
  const callingWith =
    (...calls: Record<string, string>[]): Program =>
    async ({ env, fetch }) => {
      for (const headers of calls)
        await fetch(`${env.OPENAI_BASE_URL}${completions}`, {
          method: 'POST',
          headers: { 'content-type': 'application/json', ...headers },
          body: JSON.stringify({ model: 'gpt-4o', messages: [{ role: 'user', content: 'Hi' }] }),
        })
    }
  const keyed = { authorization: 'Bearer sk-test' }
  const rows: [what: string, refused: Record<string, string>, code: string, message: string][] = [
    ['a token', {}, 'invalid_token', "send a token: 'Authorization: Bearer <token>'"],
    ['a valid header', { authorization: 'Basic eDp5' }, 'invalid_token', 'is not a bearer token'],
    ['JSON', { ...keyed, 'content-type': 'text/plain' }, 'unsupported_media_type', 'content-type "text/plain" is not'],
    ['a valid encoding', { ...keyed, 'content-encoding': 'br' }, 'unsupported_encoding', 'br'],
    ['an own page', { ...keyed, origin: 'https://a.example' }, 'origin_not_allowed', 'https://a.example'],
  ]

  for (const [what, headers, code, message] of rows)
    test(`are inconclusive if every call lacks ${what}`, async () => {
      const calls = { code, message: expect.stringContaining(message), count: 2, for_session: false }
      for (const scenario of [undefined, UNAUTHORIZED]) {
        const { code: exit, run } = await play(callingWith(headers, headers), scenario)
        expect(run.refused).toEqual([calls])
        expect([exit, run.verdict]).toEqual([3, 'inconclusive'])
        expect(run.inconclusive.at(-1)).toStartWith('2 calls reached no session: ')
        const text = plainLines(runLines(run)).join('\n')
        expect(text).toContain('  refused       2 calls reached no session: ')
        expect(text).not.toContain('does the program use the address')
      }
      // A call that got through proves that the client knows how to.
      const { code: exit, run } = await play(callingWith(headers, headers, keyed))
      expect([exit, run.verdict, run.inconclusive]).toEqual([0, 'pass', []])
      expect(run.refused).toEqual([calls])
      expect(plainLines(runLines(run)).join('\n')).toContain('  refused       2 calls reached no session: ')
    })

  test('are judged as they are if only requests that read, or control routes, were refused', async () => {
    const { code, run } = await play(async ({ env, fetch }) => {
      await fetch(`${env.OPENAI_BASE_URL}/models`)
      await fetch(`${env.UNDERSTUDY_URL}/_understudy/sessions`, { method: 'POST', body: 'x' })
      await fetch(`${env.OPENAI_BASE_URL}${completions}`, { method: 'OPTIONS' })
    })
    expect([code, run.verdict, run.refused]).toEqual([0, 'pass', []])
  })

  test('with calls of the workspace are no sessions without calls', async () => {
    const { run } = await play(async ({ env, fetch }) => {
      const tools = `${env.UNDERSTUDY_URL}/v2/tools`
      await fetch(tools, { method: 'POST', body: '{}' })
      await fetch(tools, { headers: keyed })
    })
    expect([run.verdict, run.refused.map(({ count }) => count)]).toEqual(['pass', [1]])
  })

  test('whose 401 a scenario injects are judged: the calls reached them', async () => {
    const { run } = await play(callingWith(keyed), UNAUTHORIZED)
    expect([run.verdict, run.refused]).toEqual(['pass', []])
  })

  test('may be without calls beside one with calls', async () => {
    const other = { 'x-understudy-session': 'other' }
    const { run } = await play(callingWith(other, other, keyed))
    expect([run.verdict, run.refused.map(({ count }) => count)]).toEqual(['pass', [2]])
  })

  test('are listed first when they failed, and one failure gives exit code 3', async () => {
    const { code, run: played } = await play(client('openai', 'mixed', '2'), BURST)
    expect(code).toBe(3)
    expect(played.sessions.map(({ session, ok }) => [session, ok])).toEqual([
      ['worker-1', false],
      ['worker-2', true],
    ])
    const lines = plainLines(runLines(played))
    expect(lines[0]).toBe('Understudy: burst: FAIL, 1 of 2 sessions failed')
    expect(lines).toContain('  session       worker-1: FAIL, 1 call')
    expect(lines).toContain('    expected      2 attempts: provider openai, status 429 NOT MET: 1')
  })

  test('pass with the SDK of a program that honors Retry-After', async () => {
    const { code, run: played } = await play(client('ai-sdk', 'sessions', '2'), BURST)
    expect(played.sessions.map(({ session, calls, ok }) => [session, calls, ok])).toEqual([
      ['worker-1', 3, true],
      ['worker-2', 3, true],
    ])
    expect(code).toBe(0)
  })

  test('are selected by a rule, and expectations apply to the sessions that a rule is about', async () => {
    const narrow = BURST.replace('{ provider: openai }', '{ provider: openai, session: "worker-2*" }')
    const { code, run: played } = await play(client('openai', 'sessions', '2'), narrow)
    expect(played.sessions.map(({ session, calls }) => [session, calls])).toEqual([
      ['worker-1', 1],
      ['worker-2', 3],
    ])
    expect(code).toBe(0)
  })

  test("are not reported when unused, except the command's own when no other was used", async () => {
    const own = await play(client('plain', 'one'), 'rate-limit-burst')
    expect(own.run.sessions.map(({ session, calls }) => [session, calls])).toEqual([['rate-limit-burst', 1]])
    const none = await play(client('plain', 'nobody'), 'rate-limit-burst')
    expect(none.code).toBe(3)
    expect(none.run.sessions.map(({ session, calls }) => [session, calls])).toEqual([['rate-limit-burst', 0]])
    const said = plainLines(runLines(none.run)).join('\n')
    expect(said).toContain(`no calls were received: the program should call ${none.run.url}/v1 (OPENAI_BASE_URL)`)
  })

  test('get only a warning when a command without a scenario calls nothing, unless exec is strict', async () => {
    const { code, run: played } = await play(client('plain', 'nobody'))
    expect(code).toBe(0)
    expect(played.findings.map(({ kind, severity }) => [kind, severity])).toEqual([['unknown-path', 'warning']])
    expect((await play(client('plain', 'nobody'), undefined, { strict: true })).code).toBe(3)
  })
})
