// exec and the sessions of its command: each plays the scenario by itself and is judged by name; the run can be kept,
// limited and stopped.
import { afterAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { runLines } from '../../src/cli/report.ts'
import type { TraceRecord } from '../../src/contract/trace.ts'
import { plainLines, runCommand } from '../support/cli.ts'
import { play, program } from '../support/exec.ts'
import { EXECUTABLE, emptyFolder, environment, run, startServer } from '../support/server.ts'

// Each test starts programs, on a machine that may be busy.
setDefaultTimeout(60_000)
const folder = emptyFolder()
afterAll(folder.remove)
const inFolder = (name: string) => join(folder.path, name)

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
  - { provider: openai, outcome: answered, attempts: 1 }
`

describe('sessions', () => {
  test('of parallel tests play the scenario with counters of their own, each judged by name', async () => {
    const { code, run: played } = await play(program('openai', 'sessions', '3'), BURST)
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

  test('are judged however many they are', async () => {
    const { code, run: played } = await play(program('openai', 'sessions', '120'), BURST)
    expect(played.sessions.map(({ calls }) => calls)).toEqual(Array.from({ length: 120 }, () => 3))
    expect(code).toBe(0)
  })

  test('that broke come first, and one is enough for 3', async () => {
    const { code, run: played } = await play(program('openai', 'mixed', '2'), BURST)
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

  test('by the SDK of a program that waits as it is told', async () => {
    const { code, run: played } = await play(program('ai-sdk', 'sessions', '2'), BURST)
    expect(played.sessions.map(({ session, calls, ok }) => [session, calls, ok])).toEqual([
      ['worker-1', 3, true],
      ['worker-2', 3, true],
    ])
    expect(code).toBe(0)
  })

  test('may be narrowed to by a rule; the expectations are for those that a rule is about', async () => {
    const narrow = BURST.replace('{ provider: openai }', '{ provider: openai, session: "worker-2*" }')
    const { code, run: played } = await play(program('openai', 'sessions', '2'), narrow)
    expect(played.sessions.map(({ session, calls }) => [session, calls])).toEqual([
      ['worker-1', 1],
      ['worker-2', 3],
    ])
    expect(code).toBe(0)
  })

  test('that nobody has used are not reported; the own one of the command is, when none was used', async () => {
    const own = await play(program('plain', 'one'), 'rate-limit-burst')
    expect(own.run.sessions.map(({ session, calls }) => [session, calls])).toEqual([['rate-limit-burst', 1]])
    const none = await play(program('plain', 'nobody'), 'rate-limit-burst')
    expect(none.code).toBe(3)
    expect(none.run.sessions.map(({ session, calls }) => [session, calls])).toEqual([['rate-limit-burst', 0]])
    const said = plainLines(runLines(none.run)).join('\n')
    expect(said).toContain(`no calls were received: the program should call ${none.run.url}/v1 (OPENAI_BASE_URL)`)
  })

  test('without a scenario a command that calls nothing is only warned of, unless it is strict', async () => {
    const { code, run: played } = await play(program('plain', 'nobody'))
    expect(code).toBe(0)
    expect(played.findings.map(({ kind, severity }) => [kind, severity])).toEqual([['wrong-address', 'warning']])
    expect((await play(program('plain', 'nobody'), undefined, { strict: true })).code).toBe(3)
  })
})

describe('a run', () => {
  test('is kept in a file, all sessions of it', async () => {
    const db = inFolder('run.db')
    for (let turn = 0; turn < 2; turn++) {
      const { run: played } = await play(program('openai', 'sessions', '2'), undefined, { db })
      expect(plainLines(runLines(played)).at(-1)).toBe(`  saved         understudy trace --db ${db} list`)
    }
    const list = async (...args: string[]) => {
      const { stdout } = await runCommand(['trace', '--db', db, 'list', '--json', ...args])
      return stdout
        .trimEnd()
        .split('\n')
        .map((line) => (JSON.parse(line) as TraceRecord).session)
    }
    // The second run takes the place of the first.
    expect((await list()).sort()).toEqual(['worker-1', 'worker-2'])
    expect(await list('--session', 'worker-2')).toEqual(['worker-2'])
    const shown = await runCommand(['trace', '--db', db, 'show', 'last', '--json'])
    expect(JSON.parse(shown.stdout)).toMatchObject({ request: { messages: [{ content: 'weather' }] } })
  })

  test('is kept in a file for each scenario and seed when there are several', async () => {
    const db = inFolder('many.db')
    const { runs } = await play(program('plain', 'one'), undefined, { db, seeds: [1, 2] })
    expect(runs.map((one) => one.db)).toEqual([
      inFolder('many.no-scenario-seed-1.db'),
      inFolder('many.no-scenario-seed-2.db'),
    ])
    expect(runs.every((one) => existsSync(one.db ?? ''))).toBe(true)
  })

  test('is not kept in the place of what a server holds', async () => {
    const server = await startServer(['--db', 'server.db'], { cwd: folder.path })
    await fetch(`${server.url}/v2/contacts`, { headers: { authorization: 'Bearer any' } })
    await server.stop()
    await expect(play(program('plain', 'one'), undefined, { db: inFolder('server.db') })).rejects.toThrow(
      'server.db is that of a server, which a run would replace',
    )
  })

  test('whose time is up is ended with all it has started, and reported', async () => {
    const file = inFolder('pid')
    // A busy machine may need longer to start both.
    for (let timeout = 1_500; !existsSync(file); timeout *= 3) {
      const { code, run: played } = await play(program('plain', 'parent', '0', file), undefined, { timeout })
      expect({ code, timedOut: played.timed_out }).toEqual({ code: 124, timedOut: true })
      expect(plainLines(runLines(played))[0]).toMatch(
        /^Understudy: no scenario: FAIL: the command was ended after [\d.]+ m?s by --timeout$/,
      )
    }
    const state = () =>
      Bun.spawnSync(['ps', '-o', 'stat=', '-p', readFileSync(file, 'utf8')])
        .stdout.toString()
        .trim()
    // Gone, or dead and not yet taken note of.
    while (/^[^Z]/.test(state())) await Bun.sleep(50)
    expect(state()).toMatch(/^(Z.*)?$/)
  })

  test('that is stopped by Ctrl-C reports what it has', async () => {
    const command = ['exec', '--scenario', 'rate-limit-burst', '--', ...program('plain', 'one then sleeping')]
    const child = Bun.spawn([EXECUTABLE, ...command], {
      cwd: folder.path,
      env: environment(),
      stdout: 'pipe',
    })
    const decoder = new TextDecoder()
    let printed = ''
    for await (const bytes of child.stdout) {
      printed += decoder.decode(bytes, { stream: true })
      if (printed.includes('status 429') && child.exitCode === null && !printed.includes('Understudy'))
        child.kill('SIGINT')
    }
    await child.exited
    expect(printed).toContain('Understudy: rate-limit-burst: FAIL: the command failed with exit code 130')
    expect(printed).toContain('  calls         1, 1 attempt, direct')
    expect(child.exitCode).toBe(130)
  })

  test('takes the flags of serve', async () => {
    const flags = ['--on-miss', 'error', '--token', 'secret', '--seed', '7']
    const { code, stdout } = await run(['exec', ...flags, '--', ...program('plain', 'one')], { cwd: folder.path })
    expect(stdout).toContain('404')
    expect(stdout).toContain('1 call matched no fixture')
    expect(code).toBe(0)
  })
})
