// understudy exec, rehearse, and the checks of scenario files: the executable as a developer or a CI job runs it.
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TraceRecord } from '../../src/contract/trace.ts'
import type { Verification } from '../../src/contract/verification.ts'
import { emptyFolder, run, startServer } from '../support/server.ts'

// Each test starts the executable, some of them several times, on a machine that may be busy.
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
const { OPENAI_BASE_URL, OPENAI_API_KEY, UNDERSTUDY_URL, UNDERSTUDY_TOKEN, ANTHROPIC_BASE_URL } = process.env
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
  console.log('status', response.status)
}
const seen = await fetch(UNDERSTUDY_URL + '/_understudy/verify', { headers: { authorization: 'Bearer ' + UNDERSTUDY_TOKEN } })
const { session, calls } = await seen.json()
console.log('session', session, calls, ANTHROPIC_BASE_URL === UNDERSTUDY_URL, OPENAI_BASE_URL === UNDERSTUDY_URL + '/v1')
const [how] = process.argv.slice(2)
if (how === 'killed') process.kill(process.pid, 'SIGTERM')
process.exit(Number(how ?? 0))
`
beforeAll(() => {
  put('client.ts', CLIENT)
  put('good.yaml', day('good', '{ provider: anthropic, attempts: 2, outcome: answered }, { calls: 3 }'))
  put('bad.yaml', day('bad', '{ provider: anthropic, attempts: 0 }'))
})
const exec = (...args: string[]) => run(['exec', ...args], { cwd })
const client = (...args: string[]) => ['--', process.execPath, 'client.ts', ...args]

describe('exec', () => {
  test('runs the command in a session of its own and says what was exercised', async () => {
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
      '  ways          3 of 3 taken',
      '  expected      2 attempts: provider anthropic, outcome answered met',
      '  expected      3 calls met',
      '',
    ])
    // Twice five seconds that nobody waited for.
    expect(stdout).toMatch(/ {2}time +virtual time skipped: 10\.0 s \(the client did not wait for it\)\n/)
  })

  test('adds up over runs which configured ways were taken', async () => {
    const quiet = await exec('--coverage', 'ways.json', ...client())
    expect(quiet.stdout).toContain('ways          0 of 3 taken; never: chat.completions openai/gpt-4o: fallback 1')
    const bad = await exec('--coverage', 'ways.json', '--scenario', 'good.yaml', ...client())
    expect(bad.stdout).toContain('Understudy: ways, with those of earlier runs: 3 of 3 taken')
    expect(JSON.parse(readFileSync(join(cwd, 'ways.json'), 'utf8'))).toEqual({
      ways: {
        'chat.completions openai/gpt-4o: fallback 1 anthropic/claude-sonnet-4': 2,
        'chat.completions openai/gpt-4o: recovery': 2,
        'chat.completions openai/gpt-4o: timeout': 2,
      },
    })
    writeFileSync(join(cwd, 'ways.json'), '{"ways":[]}')
    const refused = await exec('--coverage', 'ways.json', ...client())
    expect(refused.code).toBe(2)
    expect(refused.stderr).toContain('--coverage "ways.json" holds something else')
  })

  const ends: [string, string, string[], number][] = [
    ['an expectation that is not met', 'bad.yaml', [], 3],
    ['the own failure of the command', 'good.yaml', ['7'], 7],
    ['the own failure of the command, though an expectation is not met', 'bad.yaml', ['1'], 1],
    ['a command that a signal ends', 'good.yaml', ['killed'], 143],
  ]
  test.each(ends)('tells %s by its exit code', async (_, scenario, args, expected) => {
    const { code, stdout } = await exec('--scenario', scenario, ...client(...args))
    expect(code).toBe(expected)
    if (expected === 3) expect(stdout).toContain('expected      0 attempts: provider anthropic NOT MET: 2')
  })

  test('runs once for each scenario and seed, and writes JSON and JUnit', async () => {
    const { code, stdout } = await exec(
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

  const misuse: [string, string[], string][] = [
    ['no command', [], "missing required argument 'COMMAND'"],
    ['a program that is not there', ['--scenario', 'good.yaml', '--', 'nosuchprogram'], 'there is no such program'],
    ['an unknown scenario', ['--scenario', 'nosuch', ...client()], 'there is no scenario or file "nosuch"; shipped: '],
    ['a seed that is none', ['--seed', 'x', ...client()], '--seed "x" is not valid'],
    ['a time that is none', ['--timeout', '10', ...client()], '--timeout "10" is not valid: it must be a time such as'],
    ['a setting that is none', ['--on-miss', 'x', ...client()], '--on-miss "x" is not valid'],
    ['a report that nobody can write', ['--junit', 'nowhere/out.xml', ...client()], '--junit "nowhere/out.xml" cannot'],
    ['other machines without a token', ['--host', '0.0.0.0', ...client()], '--host 0.0.0.0 lets other machines in'],
    ['a scenario with a mistake', ['--scenario', 'wrong.yaml', ...client()], 'wrong.yaml:2:10: rules[0].fault is'],
  ]
  test.each(misuse)('%s is a misuse', async (_, args, message) => {
    put('wrong.yaml', 'name: wrong\nrules: [ { name: r } ]\n')
    const { code, stdout, stderr } = await exec(...args)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain(message)
  })
})

describe('rehearse', () => {
  interface Played {
    traces: TraceRecord[]
    report: Verification
  }
  const rehearse = async (...args: string[]) => {
    const { code, stdout, stderr } = await run(['rehearse', ...args], { cwd })
    return { code, stderr, stdout }
  }

  test('plays a scenario in no time, the same every time', async () => {
    const first = await rehearse('good.yaml', '--json')
    // Its own calls are retried, so nothing falls back.
    expect(first.code).toBe(3)
    const { traces, report } = JSON.parse(first.stdout) as Played
    expect(traces).toHaveLength(6)
    expect(traces[0]?.attempts.map(({ why, outcome }) => `${why} ${outcome}`)).toEqual([
      'first timed out',
      'retry timed out',
      'retry answered',
    ])
    expect(report).toMatchObject({ scenario: 'good', calls: 6, paths: { retry: 2, timeout: 2 } })
    expect((await rehearse('good.yaml', '--json')).stdout).toBe(first.stdout)
  })

  test('shows each call with its attempts, and what was exercised', async () => {
    const { code, stdout } = await rehearse('good.yaml', '--calls', '1')
    expect(code).toBe(3)
    expect(stdout).toMatch(/^chat\.completions {2}openai\/\S+ {2}answered 200 {2}\d+ ms\n/)
    expect(stdout).toMatch(/openai\/\S+ first +░+ +timed out 504 in 10\.0 s(, |\n +)faults: the first two are slow\n/)
    expect(stdout).toContain('  exercised     retry (2), timeout (2)')
    expect(stdout).toContain('NOT MET')
  })

  test('ends with 3 when an expectation is not met, and with 0 when all are', async () => {
    expect((await rehearse('bad.yaml')).code).toBe(0)
    put('unmet.yaml', day('unmet', '{ provider: groq, attempts: 1+ }'))
    expect((await rehearse('unmet.yaml')).code).toBe(3)
  })

  test('exits with 3 when no fault was injected', async () => {
    put(
      'idle.yaml',
      'name: idle\nrules:\n  - { name: later, when: { calls: 1000 }, fault: { type: delay, for: 1s } }\n',
    )
    const { code, stdout } = await rehearse('idle.yaml')
    expect(code).toBe(3)
    expect(stdout).toContain('Understudy: idle: INCONCLUSIVE: no fault was injected\n')
  })

  test('many calls get an overview first', async () => {
    const { stdout } = await rehearse('outage', '--calls', '24')
    expect(stdout).toMatch(/^24 calls in [\d.]+ s: 24 answered\n {2}openai\S+ +\d+ {2}\d+ answered\n/)
    expect((await rehearse('outage', '--calls', '23')).stdout).toStartWith('chat.completions')
  })

  test('lets the time of a schedule pass between its calls', async () => {
    put(
      'ramp.yaml',
      'name: ramp\nrules:\n  - { name: down, when: { after: 1h, for: 1h }, fault: { type: delay, for: 1s } }\n',
    )
    const { traces } = JSON.parse((await rehearse('ramp.yaml', '--calls', '5', '--json')).stdout) as Played
    expect(traces.map(({ attempts }) => attempts.flatMap(({ faults }) => faults).length)).toEqual([0, 0, 1, 1, 0])
  })

  test('against a running server, it leaves a session to look at', async () => {
    const own = emptyFolder()
    const server = await startServer(['--db', ':memory:', '--instance-strict'], { cwd: own.path })
    for (let turn = 0; turn < 2; turn++) {
      const { code, stdout } = await rehearse('good.yaml', '--against', server.url, '--json')
      expect(code).toBe(3)
      expect((JSON.parse(stdout) as Played).report).toMatchObject({ session: 'rehearse-good', calls: 6 })
    }
    const { stdout } = await run(['trace', 'list', '--session', 'rehearse-good', '--url', server.url], { cwd })
    expect(stdout.trim().split('\n')).toHaveLength(6)
    await server.stop()
    own.remove()
  })

  const mistakes: [string, string[], number, string][] = [
    ['an unknown scenario', ['nosuch'], 2, 'there is no scenario or file "nosuch"'],
    ['a number that is none', ['good.yaml', '--calls', 'x'], 2, '--calls "x" is not valid'],
    ['a server that is not there', ['good.yaml', '--against', 'http://127.0.0.1:1'], 1, 'no server answers'],
  ]
  test.each(mistakes)('%s is told', async (_, args, expected, message) => {
    const { code, stderr } = await rehearse(...args)
    expect(code).toBe(expected)
    expect(stderr).toContain(message)
  })
})

describe('scenario files', () => {
  test('are checked by what is in them, with every mistake and its place', async () => {
    put(
      'mixed.yaml',
      'name: mixed\nrules:\n  - { name: r, when: { probability: 0 }, fault: { type: delay, for: 1s } }\n',
    )
    const fine = await run(['check', 'mixed.yaml', 'good.yaml'], { cwd })
    expect(fine).toEqual({
      code: 0,
      stdout: '2 scenarios, 1 warning\n',
      stderr: 'understudy: warning: mixed.yaml:3:5: rules[0] "r" can never fire: its probability is 0\n',
    })
    put('broken.yaml', 'name: broken\nrules:\n  - name: r\n    fault: { type: delai }\n  - name: r\n')
    const broken = await run(['check', 'broken.yaml', 'wrong.yaml'], { cwd })
    expect(broken.code).toBe(2)
    expect(broken.stdout).toBe('')
    expect(broken.stderr).toContain('broken.yaml:4:14: rules[0].fault.type must be one of "http-error", ')
    expect(broken.stderr).toContain('broken.yaml:5:5: rules[1].fault is required')
    expect(broken.stderr).toContain('wrong.yaml:2:')
  })

  test('have a schema for editors', async () => {
    const { code, stdout } = await run(['schema', 'scenario'], { cwd })
    expect(code).toBe(0)
    const schema = JSON.parse(stdout) as { title: string; required: string[]; properties: object }
    expect(schema.title).toBe('Understudy scenario file, version 1')
    expect(schema.required).toEqual(['name', 'rules'])
    expect(Object.keys(schema.properties)).toEqual([
      'name',
      'description',
      'seed',
      'clock',
      'latency',
      'needs',
      'rules',
      'expect',
      'accept',
      'max_attempts',
    ])
  })

  test('with a mistake end the start of a server', async () => {
    const { code, stderr } = await run(['serve', '--scenario', 'broken.yaml'], { cwd })
    expect(code).toBe(2)
    expect(stderr).toContain('broken.yaml:4:14: rules[0].fault.type')
  })
})
