// understudy rehearse, the checks of scenario files, and the usage errors of exec before anything runs.
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TraceRecord } from '../../src/contract/core/trace.ts'
import type { Verification } from '../../src/contract/core/verification.ts'
import { runCommand, serveHere } from '../support/cli.ts'
import { emptyFolder } from '../support/server.ts'

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
beforeAll(() => {
  put('good.yaml', day('good', '{ provider: anthropic, attempts: 2, outcome: succeeded }, { calls: 3 }'))
  put('bad.yaml', day('bad', '{ provider: anthropic, attempts: 0 }'))
  put('budget.yaml', 'name: budget\nexpect: [{ cost: 0-0.5 }, { calls: 3 }]\n')
  put('wrong.yaml', 'name: wrong\nrules: [ { name: r } ]\n')
})

/** A command that never comes to be run. */
const ANY = ['--', 'false']
const misuse: [string, string[], string][] = [
  ['a missing command', [], "missing required argument 'COMMAND'"],
  ['a missing program', ['--scenario', 'good.yaml', '--', 'nosuchprogram'], 'no such program'],
  ['an unknown scenario', ['--scenario', 'nosuch', ...ANY], 'there is no scenario or file "nosuch"; shipped: '],
  ['an invalid seed', ['--seed', 'x', ...ANY], '--seed must be a whole number from 0, got "x"'],
  ['an invalid time', ['--timeout', '10', ...ANY], '--timeout must be a duration such as 90s or 10m, got "10"'],
  ['an invalid setting', ['--on-unmatched', 'x', ...ANY], '--on-unmatched must be generate or error, got "x"'],
  ['a report that cannot be written', ['--junit', 'nowhere/out.xml', ...ANY], '--junit "nowhere/out.xml" cannot'],
  ['another host without a token', ['--host', '0.0.0.0', ...ANY], '--host 0.0.0.0 accepts calls from other machines'],
  ['a scenario with an error', ['--scenario', 'wrong.yaml', ...ANY], 'wrong.yaml:2:10: rules[0].fault is'],
]
test.each(misuse)('rehearse: exits with a usage error for %s', async (_, args, message) => {
  const { code, stdout, stderr } = await runCommand(['exec', ...args], { cwd })
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  expect(stderr).toContain(message)
})

describe('rehearse', () => {
  interface Played {
    traces: TraceRecord[]
    report: Verification
  }
  const rehearse = (...args: string[]) => runCommand(['rehearse', ...args], { cwd })

  test('runs a scenario in no time, the same every time', async () => {
    const first = await rehearse('good.yaml', '--json')
    // Its own calls are retried, so nothing falls back.
    expect(first.code).toBe(3)
    const { traces, report } = JSON.parse(first.stdout) as Played
    expect(traces).toHaveLength(6)
    expect(traces[0]?.attempts.map(({ reason: why, outcome }) => `${why} ${outcome}`)).toEqual([
      'first timed_out',
      'retry timed_out',
      'retry succeeded',
    ])
    expect(report).toMatchObject({ scenario: 'good', calls: 6, recovery_paths: { retry: 2, timeout: 2 } })
    expect((await rehearse('good.yaml', '--json')).stdout).toBe(first.stdout)
  })

  test('shows each call with its attempts and the exercised recovery paths', async () => {
    const { code, stdout } = await rehearse('good.yaml', '--calls', '1')
    expect(code).toBe(3)
    expect(stdout).toMatch(/^chat\.completions {2}openai\/\S+ {2}succeeded 200 {2}\d+ ms\n/)
    expect(stdout).toMatch(/openai\/\S+ first +░+ +timed out 504 in 10\.0 s(, |\n +)faults: the first two are slow\n/)
    expect(stdout).toContain('  exercised     retry (2), timeout (2)')
    expect(stdout).toContain('NOT MET')
  })

  test('exits with 3 when an expectation is not met, and with 0 when all are', async () => {
    expect((await rehearse('bad.yaml')).code).toBe(0)
    put('unmet.yaml', day('unmet', '{ provider: groq, attempts: 1+ }'))
    expect((await rehearse('unmet.yaml')).code).toBe(3)
  })

  test('passes a budget without rules', async () => {
    const { code, stdout } = await rehearse('budget.yaml', '--calls', '3')
    expect(code).toBe(0)
    expect(stdout).toContain('  expected      $0 to $0.5 met\n')
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

  test('prints an overview first for many calls', async () => {
    const { stdout } = await rehearse('outage', '--calls', '24')
    expect(stdout).toMatch(/^24 calls in [\d.]+ s: 24 succeeded\n {2}openai\S+ +\d+ {2}\d+ succeeded\n/)
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

  test('leaves a session to inspect on a running server', async () => {
    const own = emptyFolder()
    const server = await serveHere(['--db', ':memory:', '--instance-strict'], { cwd: own.path })
    for (let turn = 0; turn < 2; turn++) {
      const { code, stdout } = await rehearse('good.yaml', '--against', server.url, '--json')
      expect(code).toBe(3)
      expect((JSON.parse(stdout) as Played).report).toMatchObject({ session: 'rehearse-good', calls: 6 })
    }
    const { stdout } = await runCommand(['trace', 'list', '--session', 'rehearse-good', '--url', server.url], { cwd })
    expect(stdout.trim().split('\n')).toHaveLength(6)
    await server.stop()
    own.remove()
  })

  const mistakes: [string, string[], number, string][] = [
    ['an unknown scenario', ['nosuch'], 2, 'there is no scenario or file "nosuch"'],
    ['an invalid number', ['good.yaml', '--calls', 'x'], 2, '--calls must be a number from 1 to 200, got "x"'],
    ['a missing server', ['good.yaml', '--against', 'http://127.0.0.1:1'], 1, 'no server responds'],
  ]
  test.each(mistakes)('reports %s', async (_, args, expected, message) => {
    const { code, stderr } = await rehearse(...args)
    expect(code).toBe(expected)
    expect(stderr).toContain(message)
  })
})

describe('scenario files', () => {
  test('are checked by their content, with every error and its place', async () => {
    put(
      'mixed.yaml',
      'name: mixed\nrules:\n  - { name: r, when: { probability: 0 }, fault: { type: delay, for: 1s } }\n',
    )
    const fine = await runCommand(['check', 'mixed.yaml', 'good.yaml'], { cwd })
    expect(fine).toEqual({
      code: 0,
      stdout: '2 scenarios, 1 warning\n',
      stderr: 'understudy: warning: mixed.yaml:3:5: rules[0] "r" can never be triggered: its probability is 0\n',
    })
    put('broken.yaml', 'name: broken\nrules:\n  - name: r\n    fault: { type: delai }\n  - name: r\n')
    const broken = await runCommand(['check', 'broken.yaml', 'wrong.yaml'], { cwd })
    expect(broken.code).toBe(2)
    expect(broken.stdout).toBe('')
    expect(broken.stderr).toContain('broken.yaml:4:14: rules[0].fault.type must be one of "http-error", ')
    expect(broken.stderr).toContain('broken.yaml:5:5: rules[1].fault is required')
    expect(broken.stderr).toContain('wrong.yaml:2:')
  })

  test('have a schema for editors', async () => {
    const { code, stdout } = await runCommand(['schema', 'scenario'], { cwd })
    expect(code).toBe(0)
    const schema = JSON.parse(stdout) as { title: string; required: string[]; properties: object }
    expect(schema.title).toBe('Understudy scenario file, version 1')
    expect(schema.required).toEqual(['name'])
    expect(Object.keys(schema.properties)).toEqual([
      'name',
      'description',
      'seed',
      'clock',
      'latency',
      'history',
      'needs',
      'rules',
      'expect',
      'accept',
      'max_attempts',
      'version',
    ])
  })

  test('prevent the start of a server when they are invalid', async () => {
    const { code, stderr } = await runCommand(['serve', '--scenario', 'broken.yaml'], { cwd })
    expect(code).toBe(2)
    expect(stderr).toContain('broken.yaml:4:14: rules[0].fault.type')
  })
})
