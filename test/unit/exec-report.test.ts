// The report of exec as people and CI systems read it: every session and finding, with times, whatever their texts.
import { expect, test } from 'bun:test'
import { junit } from '../../src/cli/print/junit.ts'
import { runLines } from '../../src/cli/print/report.ts'
import { exitCodeOf, type SuiteRun } from '../../src/cli/run/suite-run.ts'
import type { Finding } from '../../src/contract/core/finding.ts'
import type { Verification } from '../../src/contract/core/verification.ts'
import { plainLines } from '../support/cli.ts'

const NASTY = `<"&'> \u0000\u001b[31m \ud800 \uffff ]]> end`
const finding = (more: Partial<Finding> = {}): Finding => ({
  ...{ kind: 'early-retry', severity: 'error', accepted: false, message: NASTY, operation: 'chat.completions' },
  ...{ count: 1, traces: ['t1', 't2', 't3', 't4'], at: null, figures: {} },
  ...more,
})
const rule = (more: Partial<Verification['rules'][number]> = {}): Verification['rules'][number] => ({
  ...{
    scenario: 's',
    name: 'r',
    fault: 'delay',
    at: 'provider',
    matched: 1,
    triggered: 1,
    applied: 1,
    skipped: {},
    not_triggered: null,
  },
  ...more,
})
const verification = (session: string, more: Partial<Verification> = {}): Verification => ({
  ...{
    session,
    scenario: 's',
    verdict: 'pass',
    inconclusive: [],
    ok: true,
    complete: true,
    calls: 2,
    direct: 0,
    workspace_calls: 0,
    earlier: [],
    attempts: 3,
    counts: [],
    order: [],
    canceled: [],
  },
  recovery_paths: {
    retry: 1,
    fallback: 0,
    timeout: 0,
    cache: 0,
    stream_recovery: 0,
    client_retry: 0,
    client_fallback: 0,
  },
  tasks: { states: {}, running: 0, iterations: 0, tool_calls: 0, sub_tasks: 0 },
  retry_after: { sent: 0, honored: 0, not_honored: [] },
  fixtures: { unused: [], unmatched: [] },
  ...{
    not_sent: [],
    rules: [rule()],
    expectations: [],
    findings: [],
    unknown_paths: [],
    notices: [],
    pending: 0,
    dropped: 0,
  },
  ...more,
})
const runOf = (more: Partial<SuiteRun> = {}): SuiteRun => ({
  cassettes: null,
  ...{ name: 's', scenario: 's', code: 0, timed_out: false, stopped: false, took_ms: 1234, clocks: [], strict: false },
  ...{
    verdict: 'pass',
    inconclusive: [],
    ok: true,
    findings: [],
    unmatched_rules: [],
    sessions: [verification('a')],
    url: 'http://127.0.0.1:1',
    db: null,
  },
  recovery_paths: {},
  not_emulated: [],
  refused: [],
  times: new Map(),
  ...more,
})

test('JUnit report: has a case for the command, each session, finding and expectation, with times', () => {
  const broken = verification('b', {
    ok: false,
    findings: [finding(), finding({ kind: 'gave-up', severity: 'warning', message: 'a warning' })],
    expectations: [{ expected: 'two', actual: 'one', met: false }],
  })
  const times = new Map([
    [
      'b',
      new Map([
        ['t1', { arrived: 1000, left: 1500 }],
        ['t9', { arrived: 3000, left: 3250 }],
      ]),
    ],
  ])
  const xml = junit([runOf({ ok: false, sessions: [broken, verification('a')], times })])
  expect(xml).toContain('<testsuites name="understudy exec" tests="6" failures="3" time="1.234">')
  expect(xml).toContain('<testcase classname="s" name="the command" time="1.234"/>')
  expect(xml).toContain(
    '<testcase classname="s" name="session b" time="2.250"><failure message="early-retry; not met: two"/>',
  )
  expect(xml).toContain('<testcase classname="s" name="session a" time="0.000"/>')
  expect(xml).toMatch(
    /<testcase classname="s\.b" name="early-retry in chat\.completions" time="0\.500"><failure message="[^"]+t1, t2/,
  )
  expect(xml).toContain(
    'name="gave-up in chat.completions" time="0.500"><system-out>warning: a warning (t1, t2, t3, t4)</system-out>',
  )
  expect(xml).toContain('<testcase classname="s.b" name="two" time="2.250"><failure message="one"/></testcase>')
})

test('JUnit report: names findings without figures, which differ in every run, and each once', () => {
  const namesOf = (waited: number) => {
    const message = `retried after ${waited} ms`
    const findings = [finding({ message }), finding({ message: `${message} again` }), finding({ operation: null })]
    const xml = junit([runOf({ findings: [finding({ message })], sessions: [verification('a', { findings })] })])
    return [...xml.matchAll(/ name="(early[^"]*)"/g)].map(([, name]) => name)
  }
  expect(namesOf(17)).toEqual([
    'early-retry in chat.completions',
    'early-retry in chat.completions',
    'early-retry in chat.completions (2)',
    'early-retry',
  ])
  expect(namesOf(18)).toEqual(namesOf(17))
})

test('JUnit report: is valid XML whatever the texts', () => {
  const odd = verification('b', { ok: false, findings: [finding()] })
  const xml = junit([runOf({ name: NASTY, sessions: [odd] })])
  // What XML 1.0 can hold, and nothing that ends an attribute or an element.
  expect(xml).toMatch(/^[\t\n\r\u0020-\ud7ff\ue000-\ufffd]*$/)
  expect(xml.replaceAll(/<[a-z?/][^<>]*>/g, '').replaceAll(/&(amp|lt|gt|quot|#x27);/g, '')).not.toMatch(/[<>&]/)
  expect(xml).toContain('&lt;&quot;&amp;&#x27;&gt;')
})

test('finding in a report: names its severity and the calls that show it', () => {
  const found = verification('a', {
    findings: [
      finding({ message: 'one' }),
      finding({ kind: 'retry-storm', severity: 'warning', message: 'two', traces: [] }),
      finding({ kind: 'gave-up', accepted: true, message: 'three', traces: ['t1'] }),
    ],
  })
  const lines = plainLines(runLines(runOf({ ok: false, sessions: [found] })))
  expect(lines).toContain('  error         early-retry: one (t1, t2, t3 and 1 more)')
  expect(lines).toContain('  warning       retry-storm: two')
  expect(lines).toContain('  accepted      gave-up: three (t1)')
})

test('report: adds up the rules of several sessions, and names those that were not triggered', () => {
  const sessions = ['a', 'b'].map((name) =>
    verification(name, {
      rules: [
        rule({ not_triggered: name === 'a' ? 'no call' : null, ...(name === 'a' && { triggered: 0, applied: 0 }) }),
        rule({ name: 'late', triggered: 0, applied: 0, not_triggered: 'active from t=10 s' }),
        rule({ name: 'in vain', matched: 1, triggered: 2, applied: 0, skipped: { 'the response is not a stream': 2 } }),
      ],
    }),
  )
  const lines = plainLines(runLines(runOf({ sessions, unmatched_rules: ['elsewhere'] })))
  expect(lines).toContain('  rule          r (delay): matched 2, injected 1')
  expect(lines).toContain('  rule          late: not triggered: active from t=10 s')
  expect(lines).toContain('  rule          in vain (delay): matched 2, injected 0, the response is not a stream 4')
  expect(lines).toContain('  rule          elsewhere: not triggered: no session matched')
  expect(lines).toContain('  calls         4, 6 attempts, through the gateway')
})

test('report: says where to find the calls when there are any', () => {
  const found = runOf({ sessions: [verification('a', { findings: [finding()] })] })
  expect(plainLines(runLines(found)).at(-1)).toBe(
    '  saved         no calls; re-run with --db FILE, then: understudy trace show ID --db FILE',
  )
  expect(plainLines(runLines({ ...found, db: 'run.db' })).at(-1)).toBe(
    '  saved         understudy trace list --db run.db',
  )
  expect(plainLines(runLines({ ...found, db: 'my runs/run.db' })).at(-1)).toBe(
    "  saved         understudy trace list --db 'my runs/run.db'",
  )
  expect(plainLines(runLines(runOf())).join('\n')).not.toContain('  saved ')
})

test('report: lists problems right under the verdict, which counts warnings', () => {
  const expectations = [
    { expected: 'two', actual: 'two', met: true },
    { expected: 'three', actual: 'one', met: false },
  ]
  const broken = verification('a', {
    verdict: 'fail',
    ok: false,
    findings: [finding({ message: 'one' })],
    expectations,
  })
  expect(plainLines(runLines(runOf({ verdict: 'fail', ok: false, sessions: [broken] }))).slice(0, 4)).toEqual([
    'Understudy: s: FAIL',
    '  error         early-retry: one (t1, t2, t3 and 1 more)',
    '  expected      three NOT MET: one',
    '  calls         2, 3 attempts, through the gateway',
  ])
  const warned = verification('b', { findings: [finding({ severity: 'warning' }), finding({ accepted: true })] })
  expect(plainLines(runLines(runOf({ sessions: [warned] })))[0]).toBe('Understudy: s: PASS, with 1 warning')
  expect(plainLines(runLines(runOf({ sessions: [warned, warned] })))[0]).toBe('Understudy: s: PASS, with 2 warnings')
})

test("report: shows skipped virtual time and the client's waits", () => {
  const clocks: SuiteRun['clocks'] = [
    { session: 'a', clock: 'virtual', jumped_ms: 600_000, waited_ms: 1_500 },
    { session: 'b', clock: 'virtual', jumped_ms: 60_000, waited_ms: 500 },
  ]
  const lines = plainLines(runLines(runOf({ clocks })))
  expect(lines).toContain('  time          virtual time skipped: 11 min (the client did not wait for it)')
  expect(lines).toContain('  time          client idle time between calls: 2000 ms')
})

const codes: [string, Partial<SuiteRun>[], number][] = [
  ['everything passed', [{}], 0],
  ['a session failed', [{}, { ok: false }], 3],
  ['the command failed, whatever was found', [{ ok: false }, { code: 7, ok: false }], 7],
  ['its time was up', [{ code: 124, timed_out: true }], 124],
  ['it was stopped and exited with 0', [{ stopped: true }], 130],
]
test.each(codes)('exit code: is right when %s', (_, runs, code) => {
  expect(exitCodeOf(runs.map(runOf))).toBe(code)
})
