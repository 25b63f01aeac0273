// understudy exec: the executable as a developer or a CI job runs it.
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Verification } from '../../src/contract/core/verification.ts'
import { runCommand } from '../support/cli.ts'
import { emptyFolder, run } from '../support/server.ts'

// Each test starts a client, some of them several times, on a machine that may be busy.
setDefaultTimeout(30_000)
const folder = emptyFolder()
const cwd = folder.path
afterAll(folder.remove)
const put = (name: string, text: string) => writeFileSync(join(cwd, name), text)
const day = (name: string, expect: string) => `
name: ${name}
clock: virtual
rules:
  - name: the first two are slow
    match: { provider: openai }
    when: { calls: 1-2 }
    fault: { type: delay, for: 10m }
  - name: streams break
    match: { stream: true }
    when: { probability: 0.5 }
    fault: { type: cut-stream, after_chunks: 2 }
expect: [${expect}]
`
/** A client that makes three calls, prints what it was given, and ends as it is told to. */
const CLIENT = `
const { OPENAI_BASE_URL, OPENAI_API_KEY, UNDERSTUDY_URL, UNDERSTUDY_TOKEN, ANTHROPIC_BASE_URL, QUIET } = process.env
const print = QUIET ? () => {} : console.log
for (const content of ['one', 'two', 'three']) {
  const response = await fetch(OPENAI_BASE_URL + '/chat/completions', {
    method: 'POST',
    headers: { authorization: 'Bearer ' + OPENAI_API_KEY, 'content-type': 'application/json' },
    body: JSON.stringify({
      model: 'openai/gpt-4o',
      messages: [{ role: 'user', content }],
      timeout: { call_timeout: 5000 },
      fallbacks: [{ model: 'anthropic/claude-sonnet-4' }],
    }),
  })
  print('status', response.status)
}
const seen = await fetch(UNDERSTUDY_URL + '/_understudy/verify', { headers: { authorization: 'Bearer ' + UNDERSTUDY_TOKEN } })
const { session, calls } = await seen.json()
print('session', session, calls, ANTHROPIC_BASE_URL === UNDERSTUDY_URL, OPENAI_BASE_URL === UNDERSTUDY_URL + '/v1')
const [how] = process.argv.slice(2)
if (how === 'killed') process.kill(process.pid, 'SIGTERM')
process.exit(Number(how ?? 0))
`
beforeAll(() => {
  put('client.ts', CLIENT)
  put('good.yaml', day('good', '{ provider: anthropic, attempts: 2, outcome: succeeded }, { calls: 3 }'))
  put('bad.yaml', day('bad', '{ provider: anthropic, attempts: 0 }'))
})
const exec = (...args: string[]) => run(['exec', ...args], { cwd })
/** The same in this process, where nothing that the command prints is of interest. */
const execHere = (...args: string[]) => runCommand(['exec', ...args], { cwd, env: { QUIET: '1' } })
const client = (...args: string[]) => ['--', process.execPath, 'client.ts', ...args]

describe('exec', () => {
  test('prints the JSON report on a line of its own when the command does not end its last line', async () => {
    const { stdout } = await exec('--json', '--', process.execPath, '-e', "process.stdout.write('no line feed')")
    const [last = '', before] = stdout.trimEnd().split('\n').toReversed()
    expect(JSON.parse(last).runs).toHaveLength(1)
    expect(before).toBe('no line feed')
  })
  test('runs the command in a session of its own and reports what was exercised', async () => {
    const { code, stdout, stderr } = await exec('--scenario', 'good.yaml', ...client())
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout.match(/status 200/g)).toHaveLength(3)
    expect(stdout).toContain('session good 3 true true')
    const lines = stdout.slice(stdout.indexOf('Understudy:')).split('\n')
    expect(lines.filter((line) => !line.startsWith('  time'))).toEqual([
      'Understudy: good: PASS',
      '  calls         3, 5 attempts, through the gateway',
      '  exercised     fallback (2), timeout (2)',
      '  not exercised retry, cache, stream recovery, client retry, client fallback',
      '  rule          the first two are slow (delay): matched 3, injected 2',
      '  rule          streams break: not triggered: no request matched',
      '  fixtures      3 calls matched no fixture',
      '  configured    3 of 3 recovery paths exercised',
      '  expected      2 attempts: provider anthropic, outcome succeeded met',
      '  expected      3 calls met',
      '',
    ])
    // Twice five seconds that nobody waited for.
    expect(stdout).toMatch(/ {2}time +virtual time skipped: 10\.0 s \(the client did not wait for it\)\n/)
  })

  test('adds up the exercised recovery paths over runs', async () => {
    const quiet = await execHere('--coverage', 'coverage.json', ...client())
    expect(quiet.stdout).toContain(
      'configured    0 of 3 recovery paths exercised; not exercised: chat.completions openai/gpt-4o: fallback 1',
    )
    const bad = await execHere('--coverage', 'coverage.json', '--scenario', 'good.yaml', ...client())
    expect(bad.stdout).toContain('Understudy: including earlier runs: 3 of 3 recovery paths exercised')
    expect(JSON.parse(readFileSync(join(cwd, 'coverage.json'), 'utf8'))).toEqual({
      recovery_paths: {
        'chat.completions openai/gpt-4o: fallback 1 anthropic/claude-sonnet-4': 2,
        'chat.completions openai/gpt-4o: recovery': 2,
        'chat.completions openai/gpt-4o: timeout': 2,
      },
    })
    writeFileSync(join(cwd, 'coverage.json'), '{"recovery_paths":[]}')
    const refused = await execHere('--coverage', 'coverage.json', ...client())
    expect(refused.code).toBe(2)
    expect(refused.stderr).toContain('--coverage "coverage.json" is not a coverage file')
  })

  const ends: [string, string, string[], number][] = [
    ['an unmet expectation', 'bad.yaml', [], 3],
    ['a failure of the command', 'good.yaml', ['7'], 7],
    ['a failure of the command with an unmet expectation', 'bad.yaml', ['1'], 1],
    ['a command that a signal ends', 'good.yaml', ['killed'], 143],
  ]
  test.each(ends)('reports %s by its exit code', async (_, scenario, args, expected) => {
    // The executable, and with it its exit code, is that of the row with a signal.
    const { code, stdout } = await (expected > 128 ? exec : execHere)('--scenario', scenario, ...client(...args))
    expect(code).toBe(expected)
    if (expected === 3) expect(stdout).toContain('expected      0 attempts: provider anthropic NOT MET: 2')
  })

  test('runs once for each scenario and seed, and writes JSON and JUnit', async () => {
    const { code, stdout } = await execHere(
      ...['--scenario', 'good.yaml', '--scenario', 'bad.yaml', '--seed', '1', '--seed', '2'],
      ...['--junit', 'out.xml', '--json', ...client()],
    )
    expect(code).toBe(3)
    const { runs } = JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as {
      runs: { name: string; code: number; verdict: string; ok: boolean; sessions: Verification[] }[]
    }
    const seen = runs.flatMap(({ name, code: own, verdict, ok, sessions }) =>
      sessions.map(({ session, calls, verdict: of }) => [name, own, session, verdict, of, ok, calls]),
    )
    expect(seen).toEqual([
      ['good, seed 1', 0, 'good-seed-1', 'pass', 'pass', true, 3],
      ['good, seed 2', 0, 'good-seed-2', 'pass', 'pass', true, 3],
      ['bad, seed 1', 0, 'bad-seed-1', 'fail', 'fail', false, 3],
      ['bad, seed 2', 0, 'bad-seed-2', 'fail', 'fail', false, 3],
    ])
    const xml = readFileSync(join(cwd, 'out.xml'), 'utf8')
    expect(xml).toMatch(/<testsuites name="understudy exec" tests="14" failures="4" time="\d+\.\d{3}">/)
    expect(xml.match(/<testsuite name="[^"]+" tests="\d" failures="\d" time="\d+\.\d{3}">/g)?.length).toBe(4)
    expect(
      xml.match(/<testcase classname="bad, seed 1" name="session bad-seed-1" time="\d+\.\d{3}"><failure/g),
    ).toHaveLength(1)
    expect(xml.match(/<failure message="2"\/>/g)).toHaveLength(2)
  })
})
