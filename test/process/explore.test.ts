// understudy explore: every fault in every call of a program, the result of each, and what it leaves to repeat it.
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { runCommand } from '../support/cli.ts'
import { EXECUTABLE, emptyFolder, environment } from '../support/server.ts'

// An exploration starts its command some fifty times.
setDefaultTimeout(240_000)
const folder = emptyFolder()
const cwd = folder.path
afterAll(folder.remove)

/** A program that tries a whole call twice, and takes whatever comes of a stream for its answer. */
const PROGRAM = `
const { OPENAI_BASE_URL: base, OPENAI_API_KEY: key, QUIET: quiet } = process.env
const fail = (error) => {
  if (!quiet) console.error('Error: ' + error.message)
  process.exit(1)
}
const post = (body) => fetch(base + '/chat/completions', {
  method: 'POST',
  headers: { authorization: 'Bearer ' + key, 'content-type': 'application/json' },
  body: JSON.stringify({ model: 'openai/gpt-4o', ...body }),
  signal: AbortSignal.timeout(3000),
})
const ask = async (tries) => {
  try {
    const response = await post({ messages: [{ role: 'system', content: 'Answer.' }, { role: 'user', content: 'Hi' }], retry: { count: 1 } })
    if (!response.ok) throw new Error('status ' + response.status)
    return (await response.json()).choices[0].message.content.length
  } catch (error) {
    if (tries > 1) return ask(tries - 1)
    throw error
  }
}
await ask(2).catch(fail)
const stream = await post({ stream: true, messages: [{ role: 'user', content: 'Go on' }] }).catch(fail)
try {
  for await (const _ of stream.body);
} catch {}
process.exit(process.argv.includes('red') ? 7 : 0)
`
/** The least hang limit of a run, and the number of runs without faults. */
const HANG_LIMIT_MS = 10_000
const BASELINE_RUNS = 2
/** What becomes of each class at the whole call, and at the stream. */
const WHOLE = {
  'server-error-once': 'tolerated',
  timeout: 'tolerated',
  // It does not wait as long as it was told to.
  'rate-limit-once': 'misbehaved',
  'empty-response': 'tolerated',
  'server-error-forever': 'failed-cleanly',
  'context-length': 'failed',
  reset: 'tolerated',
  'content-filter': 'swallowed',
  auth: 'failed',
  'rate-limit-forever': 'failed',
}
const STREAM = {
  'server-error-once': 'swallowed',
  'cut-stream': 'swallowed',
  timeout: 'failed',
  'rate-limit-once': 'swallowed',
  'empty-response': 'swallowed',
  'in-band-error': 'swallowed',
  'server-error-forever': 'swallowed',
  'context-length': 'swallowed',
  reset: 'failed',
  'content-filter': 'swallowed',
  stall: 'swallowed',
  auth: 'swallowed',
  'malformed-chunk': 'swallowed',
  'rate-limit-forever': 'swallowed',
}

interface Report {
  problems: {
    kind: string
    severity: string
    message: string
    calls: string[]
    failure_modes: string[]
    command: string
  }[]
  injection_points: {
    id: string
    operation: string
    stream: boolean
    occurrence: number
    unstable: boolean
    discovered: boolean
  }[]
  cases: {
    injection_point: string
    failure_mode: string
    result: string
    reason: string
    traces: string[]
    scenario: string | null
  }[]
  coverage: Record<'faults' | 'tolerance' | 'recovery_paths', { count: number; total: number }>
  not_run: { injection_point: string; failure_mode: string }[]
  routes: {
    route: string
    outcomes: { fault: string; target: string; outcome: string; status: number; attempts: number }[]
  }[]
  runs: number
  runs_saved: number
}

const understudy = (...args: string[]) => runCommand(args, { cwd })
/** exec shows what its command prints, which is of no interest here. */
const quietly = (...args: string[]) => runCommand(args, { cwd, env: { QUIET: '1' } })
/** The arguments of a printed command, as a shell reads them. */
async function argumentsOf(command: string): Promise<string[]> {
  const { stdout } = await shell(`printf '%s\\0' ${command}`)
  return stdout.split('\0').slice(1, -1)
}
async function shell(script: string) {
  const child = Bun.spawn(['sh', '-c', script], {
    cwd,
    env: environment(),
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const [stdout, stderr, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ])
  return { stdout, stderr, code }
}
const program = (...args: string[]) => ['--', process.execPath, 'program.mjs', ...args]
const explore = async (...args: string[]) => {
  const { stdout, stderr, code } = await understudy('explore', '--json', ...args)
  if (stdout === '') throw new Error(`nothing was explored (${code}): ${stderr}`)
  return { code, stderr, report: JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as Report }
}
const verdictsAt = ({ cases }: Report, point: string) =>
  Object.fromEntries(cases.filter((one) => one.injection_point === point).map((one) => [one.failure_mode, one.result]))

beforeAll(() => {
  writeFileSync(join(cwd, 'program.mjs'), PROGRAM)
  writeFileSync(
    join(cwd, 'misspelt.yaml'),
    'accepted: [{ injection_point: "*", failure_mode: autth, reason: we know }]',
  )
})

describe('explore', () => {
  let first: Awaited<ReturnType<typeof explore>>
  beforeAll(async () => {
    first = await explore('--jobs', '2', '--junit', 'junit.xml', ...program())
  })

  test('finds the injection points and reports the result of each fault', () => {
    const { code, report } = first
    const [whole, stream] = report.injection_points.filter(({ discovered }) => !discovered)
    expect(report.injection_points.map(({ unstable }) => unstable)).not.toContain(true)
    expect([whole, stream]).toMatchObject([
      { operation: 'chat.completions', stream: false, occurrence: 1 },
      { operation: 'chat.completions', stream: true, occurrence: 1 },
    ])
    expect(verdictsAt(report, whole?.id ?? '')).toEqual(WHOLE)
    expect(verdictsAt(report, stream?.id ?? '')).toEqual(STREAM)
    expect(code).toBe(3)
  })

  test('reports how many applicable faults were injected and tolerated', () => {
    const all = Object.keys(WHOLE).length + Object.keys(STREAM).length
    const held = Object.values(WHOLE).filter((verdict) => verdict === 'tolerated').length
    expect(first.report.coverage).toEqual({
      faults: { count: all, total: all },
      tolerance: { count: held, total: all },
      // Breaks are at the gateway's door: what a call configures is tried in the table of its routes.
      recovery_paths: { count: 2, total: 2 },
    })
  })

  test('reports once for each routing configuration which provider faults reach the client', () => {
    const [table, ...others] = first.report.routes
    expect(others).toEqual([])
    expect(table?.route).toBe('chat.completions: openai/gpt-4o, retry 1 on 429')
    const of = (fault: string) => table?.outcomes.find((one) => one.fault === fault && one.target === 'every')
    expect(of('rate-limit')).toEqual({
      fault: 'rate-limit',
      target: 'every',
      outcome: 'http_error',
      status: 429,
      attempts: 2,
    })
    expect(table?.outcomes.find((one) => one.fault === 'rate-limit')).toMatchObject({
      target: 'once',
      status: 200,
      attempts: 2,
    })
    expect(of('auth-failure')).toMatchObject({ status: 401, attempts: 1 })
    expect(of('hang')).toMatchObject({ outcome: 'disconnected', status: 502 })
    expect(of('split-bytes')).toMatchObject({ outcome: 'succeeded', status: 200 })
  })

  test('saves a scenario for each failed case, and exec repeats the failure with it', async () => {
    const { cases } = first.report
    const broke = cases.find((cell) => cell.failure_mode === 'rate-limit-forever' && cell.result === 'failed')
    const again = await quietly('exec', '--scenario', broke?.scenario ?? '', ...program())
    expect(again.code).toBe(1)
    expect(again.stdout).toContain('matched 2, injected 2')
    const swallowed = cases.find((cell) => cell.failure_mode === 'cut-stream')
    expect((await quietly('exec', '--scenario', swallowed?.scenario ?? '', ...program())).stdout).toContain(
      'matched 1, injected 1',
    )
  })

  test('offers exec with a scenario only where it fails in the same way, and --case elsewhere', async () => {
    const { cases } = first.report
    const offers = cases.flatMap(({ result, scenario, failure_mode: mode }) => {
      const [, command = ''] =
        /^# To reproduce: (.*)$/m.exec(scenario ? readFileSync(join(cwd, scenario), 'utf8') : '') ?? []
      return scenario ? [{ result, mode, scenario, command }] : []
    })
    expect(offers.length).toBeGreaterThan(15)
    const byExec = offers.filter(({ command }) => command.startsWith('understudy exec '))
    expect(new Set(byExec.map(({ result }) => result))).toEqual(new Set(['failed']))
    expect(byExec.length).toBe(offers.filter(({ result }) => result === 'failed').length)
    // Of a response, of a connection, and of silence; the test before runs two others.
    for (const { mode, command, scenario } of byExec.filter(({ mode }) =>
      ['auth', 'reset', 'timeout'].includes(mode),
    )) {
      expect(command).toContain(`--scenario ${scenario} -- `)
      const began = performance.now()
      const { stdout, code } = await quietly(...(await argumentsOf(command)))
      expect([mode, code, stdout]).toEqual([
        mode,
        1,
        expect.stringContaining('FAIL: the command failed with exit code 1'),
      ])
      expect(performance.now() - began).toBeLessThan(HANG_LIMIT_MS)
    }
    for (const { command } of offers.filter((one) => !byExec.includes(one)))
      expect(command).toStartWith('understudy explore --case ')
  })

  test('groups what is wrong into few problems, the worst first', () => {
    expect(first.report.problems.map(({ kind, severity, calls }) => [kind, severity, ...calls])).toEqual([
      ['lost-work', 'error', 'chat.completions stream, call 2: "Go on"'],
      ['swallowed', 'error', 'chat.completions, call 1: "Hi"'],
      ['misbehaved', 'error', 'chat.completions, call 1: "Hi"'],
      ['misbehaved', 'error', 'chat.completions, call 1: "Hi"'],
      ['failed', 'error', 'chat.completions stream, call 2: "Go on"'],
    ])
  })

  test('prints commands that reproduce their problems and leave the exploration as it is', async () => {
    const state = readFileSync(join(cwd, 'explore', 'state.jsonl'), 'utf8')
    const withoutFigures = (text: string) => text.replace(/\d+(\.\d+)?/g, 'N')
    const { problems: found } = first.report
    // One by the executable, and one by this process.
    const again = [
      // The executable must be the child of this process, which it watches.
      (command: string) => shell(`exec ${command.replace('understudy explore', `${EXECUTABLE} explore --json`)}`),
      async (command: string) => {
        const [explore = '', ...rest] = await argumentsOf(command)
        return understudy(explore, '--json', ...rest)
      },
    ]
    for (const [index, { command, kind, message }] of [...found.slice(0, 1), ...found.slice(-1)].entries()) {
      const began = performance.now()
      const { stdout = '', stderr, code } = (await again[index]?.(command)) ?? {}
      expect([command, code, stderr]).toEqual([command, 3, ''])
      const { problems, cases, runs } = JSON.parse(stdout) as Report
      expect(performance.now() - began).toBeLessThan((runs + BASELINE_RUNS) * HANG_LIMIT_MS)
      expect([problems.map((one) => [one.kind, withoutFigures(one.message)]), cases.length]).toEqual([
        [[kind, withoutFigures(message)]],
        1,
      ])
    }
    expect(readFileSync(join(cwd, 'explore', 'state.jsonl'), 'utf8')).toBe(state)
  })

  test('saves the calls of all runs, with their injection points', async () => {
    const { report } = first
    const [trace] = report.cases.find((cell) => cell.failure_mode === 'auth')?.traces ?? []
    const shown = await understudy('trace', '--db', 'explore/runs.db', 'show', trace ?? '', '--json')
    expect(report.injection_points.map(({ id }) => id)).toContain(JSON.parse(shown.stdout).call_site)
  })

  test('writes a JUnit case for every case', () => {
    const xml = readFileSync(join(cwd, 'junit.xml'), 'utf8')
    const bad = first.report.cases.filter(({ result }) => !['tolerated', 'failed-cleanly'].includes(result)).length
    expect(xml).toContain(`tests="${first.report.cases.length}" failures="${bad}"`)
  })

  test('passes with known failures and reports which of them are fixed', async () => {
    const known = [
      '{ injection_point: "*", failure_mode: "*", reason: we know }',
      '{ injection_point: gone, failure_mode: auth, reason: it was so }',
      // It broke, which is not fixed.
      '{ injection_point: "*", failure_mode: auth, result: hung, reason: it was slow }',
    ]
    writeFileSync(join(cwd, 'known.yaml'), `accepted: [${known.join(', ')}]`)
    const { code, stdout } = await understudy('explore', '--resume', '--known-failures', 'known.yaml', ...program())
    expect(code).toBe(0)
    expect(stdout.match(/fixed .*/g)).toEqual(['fixed     gone auth: remove it from the file of known cases'])
    expect(stdout).toMatch(/^server-error-once +\+ +a$/m)
    // What was not tried is not said to be fixed.
    const some = await understudy(
      ...['explore', '--failure-mode', 'server-error-once', '--out', 'some', '--known-failures', 'known.yaml'],
      ...program(),
    )
    expect([some.code, some.stdout.includes('fixed')]).toEqual([0, false])
  })
})

test('explore budget: skips the least informative cases, says so, and can be resumed', async () => {
  const { report, code } = await explore('--budget', '1ms', '--out', 'short', ...program())
  expect(report.cases).toEqual([])
  expect(report.not_run.length).toBe(Object.keys(WHOLE).length + Object.keys(STREAM).length)
  expect(report.not_run[0]?.failure_mode).toBe('server-error-once')
  // Nothing was proved.
  expect(code).toBe(3)
  const other = await understudy('explore', '--resume', '--out', 'short', '--', 'true')
  expect(other).toMatchObject({ code: 2 })
  expect(other.stderr).toContain('--resume cannot continue')
})

test('explore: is inconclusive when the command calls no model', async () => {
  const { code, stdout } = await understudy('explore', '--out', 'silent', '--', 'true')
  expect(stdout).toContain('explore: INCONCLUSIVE: no call to a model or an agent was received')
  expect(code).toBe(3)
})

test('explore: stops when the command fails without a fault', async () => {
  const { code, stderr, stdout } = await understudy('explore', '--json', '--out', 'red', ...program('red'))
  expect(code).toBe(7)
  expect(JSON.parse(stdout)).toMatchObject({ injection_points: [], cases: [], baseline_failure: { code: 7 } })
  expect(stderr).toContain('failed without any fault (exit code 7)')
  expect(readdirSync(join(cwd, 'red')).filter((name) => name.endsWith('.yaml'))).toEqual([])
})

const MISTAKES: [string[], string][] = [
  [['--depth', '3'], '--depth must be a number from 1 to 2, got "3"'],
  [['--failure-mode', 'stal'], '--failure-mode "stal" is not a failure mode'],
  [['--jobs', '0'], '--jobs must be a number from 1 to 16, got "0"'],
  [['--budget', 'soon'], '--budget must be a duration such as 90s or 10m, got "soon"'],
  [['--known-failures', 'nothing.yaml'], 'nothing.yaml'],
  [['--case', 'chat.completions-1.1-auth'], '--case "chat.completions-1.1-auth" is not a case of this command'],
  [['--out', 'never', '--resume'], '--resume requires never/state.jsonl'],
  [['--out', 'program.mjs'], '--out "program.mjs" cannot be created'],
  [
    ['--known-failures', 'misspelt.yaml'],
    "accepted[0].failure_mode must be a failure mode (did you mean 'auth'?); valid: ",
  ],
  [['--html', 'nowhere/page.html'], '--html "nowhere/page.html" cannot be written'],
]
test.each(MISTAKES)('explore: rejects %p with a reason', async (flags, message) => {
  const { code, stderr } = await runCommand(['explore', ...flags, ...program()], { cwd })
  expect(stderr).toContain(message)
  expect(code).toBe(2)
})
