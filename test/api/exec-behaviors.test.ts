// The findings of exec without a scenario's expectations: each misbehavior has its finding, and compliant look-alikes have none.
import { beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { junit } from '../../src/cli/print/junit.ts'
import { runLines } from '../../src/cli/print/report.ts'
import { plainLines } from '../support/cli.ts'
import { play } from '../support/exec.ts'
import { client } from '../support/in-process.ts'
import { loadPrograms } from '../support/programs/index.ts'
import type { Program } from '../support/programs/surroundings.ts'

// Real clients wait for seconds.
setDefaultTimeout(60_000)
beforeAll(() => loadPrograms('plain', 'openai', 'ai-sdk'))

const scenario = (when: string, fault: string, more = '') => `
name: day
clock: virtual
rules:
  - name: trouble
    match: { ${more} }
    when: { ${when} }
    fault: { ${fault} }
`
const BUSY = scenario('calls: 1-2', 'type: http-error, status: 429, retry_after: 5s')
/** Each of six equal prompts is refused at first. */
const CROWDED = scenario('calls: 1-6', 'type: http-error, status: 429, retry_after: 1s')
const DOWN = scenario('', 'type: http-error, status: 503')
const RESTARTING = scenario('calls: 1-3', 'type: http-error, status: 503')
const MISTAKEN = scenario('', 'type: http-error, status: 400')
const CUT = scenario('calls: 1', 'type: cut-stream, after_chunks: 2', 'stream: true')
/** The first calls take long, by the clock on the wall. */
const SLOW = scenario('calls: 1-2', 'type: delay, for: 2s').replace('virtual', 'real')
const STUCK = scenario('', 'type: delay, for: 10s').replace('virtual', 'real')
/** A day on which nothing happens, and is not meant to. */
const WELL = `${scenario('calls: "1000"', 'type: http-error, status: 503')}accept: [not-exercised]
`

describe('exec finding', () => {
  const rows: [string, Program, string, string][] = [
    ['does not honor Retry-After', client('plain', 'impatient'), BUSY, 'early-retry'],
    ['gives up and exits with 0', client('plain', 'quitter'), DOWN, 'gave-up'],
    ['repeats a non-retryable error', client('plain', 'stubborn'), MISTAKEN, 'ignored-status'],
    ['retries on every layer', client('plain', 'amplifier'), `${DOWN}max_attempts: 20\n`, 'retry-amplification'],
    ['leaves a call open while it repeats it', client('openai', 'leaving open', '4'), SLOW, 'not-canceled'],
    ['uses the wrong address', client('plain', 'stranger'), WELL, 'unknown-path'],
  ]
  test.each(rows)('is reported for a client that %s', async (_, command, yaml, kind) => {
    const { code, run, findings } = await play(command, yaml)
    expect(findings.day).toContain(kind)
    expect(code).toBe(3)
    expect(plainLines(runLines(run)).join('\n')).toContain(`  error         ${kind}: `)
  })

  test('is reported for a client that calls 300 times without a pause', async () => {
    const { code, run, findings } = await play(client('plain', 'storm'), DOWN)
    expect({ code, findings: findings.day }).toEqual({ code: 3, findings: ['retry-storm', 'gave-up'] })
    // A warning where a busy machine makes the pauses uneven: the calls may then come from several clients.
    expect(plainLines(runLines(run)).join('\n')).toMatch(/ {2}(?:error {9}|warning {7})retry-storm: /)
  })

  const warnings: [string, Program, string, string][] = [
    ['takes half a stream for a whole one and exits with 0', client('plain', 'swallower'), CUT, 'swallowed'],
    ['disconnects on every try, with pauses', client('openai', 'timing out', '2'), STUCK, 'gave-up'],
  ]
  test.each(warnings)('is a warning for a client that %s', async (_, command, yaml, kind) => {
    const { code, run, findings } = await play(command, yaml)
    expect({ code, findings: findings.day }).toEqual({ code: 0, findings: [kind] })
    const lines = plainLines(runLines(run))
    expect(lines[0]).toBe('Understudy: day: PASS, with 1 warning')
    expect(lines.join('\n')).toContain(`  warning       ${kind}: `)
    expect((await play(command, yaml, { strict: true })).run).toMatchObject({ verdict: 'fail', ok: false })
  })

  test('is a warning for a client that disconnects from equal calls that may be different requests', async () => {
    const { code, run, findings } = await play(client('plain', 'hanging up'), STUCK)
    expect({ code, findings: findings.day }).toEqual({ code: 0, findings: ['gave-up'] })
    expect(plainLines(runLines(run)).join('\n')).toMatch(
      /warning +gave-up: at least one request never succeeded: 3 equivalent calls failed; the client disconnected each time, after at most \d+ ms/,
    )
  })

  test('can be accepted by the scenario', async () => {
    const { code, run, findings } = await play(client('plain', 'quitter'), `${DOWN}accept: [gave-up]\n`)
    expect({ code, findings }).toEqual({ code: 0, findings: { day: [] } })
    expect(plainLines(runLines(run)).join('\n')).toContain('  accepted      gave-up: ')
  })

  test('names the likely address when a wrong one was called', async () => {
    const { run } = await play(client('plain', 'stranger'))
    const said = plainLines(runLines(run)).join('\n')
    expect(said).toContain('/openai/v1/chat/completions')
    expect(said).toContain('did you mean /v1/chat/completions?')
  })
})

describe.concurrent('exec without findings', () => {
  const rows: [string, Program, string][] = [
    ['repeats an answered question', client('plain', 'polling'), WELL],
    ['sends twelve equal requests at once', client('plain', 'crowd'), WELL],
    ['sends six equal requests at once, gets an error, and waits', client('plain', 'patient crowd'), CROWDED],
    ['honors Retry-After', client('plain', 'patient'), BUSY],
    ['waits with growing pauses', client('plain', 'patient'), RESTARTING],
    ['corrects a rejected request', client('plain', 'correcting'), WELL],
    ['repeats a truncated stream', client('plain', 'asking again'), CUT],
    ['leaves a stream early', client('plain', 'reading enough'), WELL],
    ['uses the openai package with six equal prompts at once', client('openai', 'equal', '6'), CROWDED],
    ['uses the openai package with twelve equal prompts at once', client('openai', 'equal', '12'), CROWDED],
    ['uses the openai package, times out, and waits longer in the end', client('openai', 'timing out', '3'), SLOW],
    ['hedges', client('openai', 'hedging'), SLOW],
    ['is stopped twice by its user', client('openai', 'stopping'), STUCK],
    ['uses the AI SDK with six equal prompts', client('ai-sdk', 'equal', '6'), CROWDED],
    ['uses the AI SDK with twelve equal prompts', client('ai-sdk', 'equal', '12'), CROWDED],
    ['uses the AI SDK without streaming', client('ai-sdk', 'chat'), WELL],
    ['uses the AI SDK with its default retries', client('ai-sdk', 'responses'), WELL],
    ['uses the AI SDK with streaming', client('ai-sdk', 'stream'), WELL],
  ]
  test.each(rows)('passes a client that %s', async (_, command, yaml) => {
    const { code, run, findings } = await play(command, yaml)
    expect({ code, findings, report: code === 0 ? '' : plainLines(runLines(run)).join('\n') }).toEqual({
      code: 0,
      findings: { day: [] },
      report: '',
    })
  })
})

describe('time-based rule under exec', () => {
  const outage = (until: number) => `
name: day
clock: virtual
rules:
  - name: outage
    when: { schedule: [{ phase: healthy, for: 1s }, { phase: down, for: ${until}ms }, { phase: healthy }] }
    fault: { type: http-error, status: 503 }
`
  test('is triggered for a client that waits by itself, and so is the recovery', async () => {
    const { run } = await play(client('plain', 'waiting'), outage(1500))
    const [report] = run.sessions
    expect(report?.rules[0]?.triggered).toBeGreaterThan(0)
    expect(report?.order.at(-1)?.outcome).toBe('succeeded')
  })

  test('is reported when it never became active', async () => {
    const { run } = await play(client('plain', 'one'), outage(60_000))
    expect(plainLines(runLines(run)).join('\n')).toMatch(
      /rule +outage: not triggered: active from t=1 s, last matching request at t=0 s/,
    )
  })
})

describe('exec without an injected fault', () => {
  const late = scenario('after: 60s', 'type: http-error, status: 503')
  const other = scenario('', 'type: http-error, status: 503', 'provider: cohere')
  test.each([
    ['because its rule never became active', late],
    ['because no request matched', other],
  ])('is inconclusive %s', async (_, yaml) => {
    const { code, run } = await play(client('plain', 'one'), yaml)
    const { verdict, ok, findings, inconclusive } = run
    expect({ code, verdict, ok, findings }).toEqual({ code: 3, verdict: 'inconclusive', ok: false, findings: [] })
    expect(run.sessions[0]).toMatchObject({ verdict: 'inconclusive', inconclusive, ok: true })
    const [first] = plainLines(runLines(run))
    expect(first).toStartWith('Understudy: day: INCONCLUSIVE: no fault was injected')
    expect(first?.includes('UNDERSTUDY_CLOCK_URL')).toBe(yaml === late)
    // The cases of a machine say why, too.
    expect(junit([run])).toMatch(/<failure message="INCONCLUSIVE: no fault was injected/)
    expect(junit([run])).toMatch(
      /<system-out>INCONCLUSIVE: no fault was injected[^<]*; rule &quot;trouble&quot; was not triggered: /,
    )
  })

  test('passes when the scenario accepts not-tried', async () => {
    const { code, run } = await play(client('plain', 'one'), `${late}accept: [not-exercised]\n`)
    expect({ code, verdict: run.verdict }).toEqual({ code: 0, verdict: 'pass' })
  })

  test('passes when a fault was injected in one of its sessions', async () => {
    const { code, run } = await play(
      client('openai', 'sessions', '2'),
      scenario('', 'type: delay, for: 1ms', 'session: worker-1'),
    )
    expect({ code, found: run.findings }).toEqual({ code: 0, found: [] })
  })
})
