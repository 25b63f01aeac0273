// What explore stores and reports for programs with very many calls, for dropped traces, and for interrupted explorations.
import { afterAll, expect, test } from 'bun:test'
import { readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { exploreLines } from '../../src/cli/print/explore-matrix.ts'
import { keptState } from '../../src/cli/run/explore-state.ts'
import { ConfigError } from '../../src/config.ts'
import type { FailureModeName } from '../../src/contract/core/exploration.ts'
import { type Exploration, type ExploreOptions, explore } from '../../src/exploration/explore.ts'
import { failingPoints } from '../../src/exploration/injection-points.ts'
import type { RunCommand, TriedCase } from '../../src/exploration/trial.ts'
import type { ObservedRun } from '../../src/exploration/types.ts'
import { plainLines } from '../support/cli.ts'
import { jsonOf, reportOf } from '../support/explore.ts'
import { modelProgram, type Site, type Step } from '../support/model-programs.ts'
import { emptyFolder } from '../support/server.ts'

const folder = emptyFolder()
afterAll(folder.remove)

const retrying: Site['handling'] = { retries: 1, fallback: false, spare: false, end: 'throw' }
const site = (text: string, handling: Partial<Site['handling']> = {}): Site => ({
  ...{ kind: 'ask', session: 'one', system: 'Be brief.', text },
  handling: { ...retrying, ...handling },
})
const loop = (times: number): Step => ({ kind: 'loop', site: site('item'), times, sameText: false, odd: null })

const optionsOf = (run: RunCommand, more: Partial<ExploreOptions> = {}): ExploreOptions => ({
  ...{ run, depth: 1, jobs: 1, prune: true, limitMs: 60_000, before: new Map(), classes: ['server-error-once'] },
  ...{ hasTime: () => true, notify() {} },
  ...more,
})
const printed = (found: Exploration): string => plainLines(exploreLines({ ...reportOf(found), width: 100 })).join('\n')

/** What can be compared of an exploration: which of two runs came first makes the ids of traces. */
const verdictsOf = ({ points, cases: cells, skipped: left }: Exploration) => ({
  points: points.map(({ id }) => id),
  cells: cells.map(({ point, class: name, verdict, why, derived }) => ({ point, name, verdict, why, derived })),
  left,
})

test('explore with pairs of faults: resumes wherever it was ended and finds the same', async () => {
  const programs: Step[][] = [
    [site('a', { retries: 2 }), site('b', { end: 'drop' })],
    [loop(2), site('c', { retries: 0, end: 'drop' })],
  ]
  const classes: FailureModeName[] = ['server-error-once', 'server-error-forever']
  for (const steps of programs) {
    const { run } = modelProgram(steps)
    const whole = await explore(optionsOf(run, { classes, depth: 2 }))
    expect(whole.cases.filter(({ class: name }) => name.includes('+')).length).toBeGreaterThan(4)
    await fc.assert(
      fc.asyncProperty(fc.nat(whole.runs), fc.constantFrom(1, 2), async (runs, depth) => {
        const before = new Map<string, TriedCase>()
        let left = runs
        const begun = { classes, depth, hasTime: () => left-- > 0 } as const
        const notify: ExploreOptions['notify'] = ({ tried }) => {
          // As the file keeps it.
          before.set(`${tried.result.point}-${tried.result.class}`, JSON.parse(JSON.stringify(tried)))
        }
        const first = await explore(optionsOf(run, { ...begun, notify }))
        const second = await explore(optionsOf(run, { classes, depth: 2, before }))
        expect(verdictsOf(second)).toEqual(verdictsOf(whole))
        if (depth === 2) expect(first.runs + second.runs).toBeLessThanOrEqual(whole.runs + classes.length)
      }),
      { numRuns: 8, seed: 27 },
    )
  }
})

test('explore: reports calls missing from the matrix because their traces were dropped', async () => {
  const { run } = modelProgram([loop(6)], { keep_traces: 4 })
  const found = await explore(optionsOf(run))
  expect([found.points.filter(({ discovered }) => !discovered).length, found.dropped]).toEqual([4, 2])
  expect(printed(found)).toContain('missing   2 calls got no fault because their traces were dropped')
  expect(jsonOf(found)).toMatchObject({ dropped: 2 })
  // The first of those that are left is pushed out by its own repetition: nothing is known of it, and nothing is said of it.
  const [first, ...others] = found.cases
  expect(first).toMatchObject({
    verdict: 'not-applied',
    why: expect.stringContaining('the trace of the affected call was dropped'),
  })
  expect(others.map(({ verdict }) => verdict)).toEqual(['tolerated', 'tolerated', 'tolerated'])
  const whole = await explore(optionsOf(modelProgram([loop(6)]).run))
  expect(whole.dropped).toBe(0)
  expect(printed(whole)).not.toContain('missing')
})

test('explore: reports calls missing from the matrix because of a reset', async () => {
  const { run } = modelProgram([loop(2), { kind: 'reset' }, site('a')])
  const found = await explore(optionsOf(run))
  expect([found.points.filter(({ discovered }) => !discovered).map(({ nth }) => nth), found.dropped]).toEqual([[1], 2])
  expect(printed(found)).toContain('missing   2 calls got no fault because their traces were dropped or reset')
})

test('explore: reports a failed run when the trace of its call was dropped', async () => {
  const { run } = modelProgram([loop(6)], { keep_traces: 4 })
  const failing: RunCommand = async (asked) => ({ ...(await run(asked)), ...(asked.scenario && { code: 1 }) })
  const found = await explore(optionsOf(failing))
  expect(found.cases.map(({ verdict, why }) => `${verdict}: ${why}`)).toEqual(
    Array.from({ length: 4 }, () => 'failed: the command failed with exit code 1'),
  )
})

test('explore: injects faults into the first, the last and some calls when a type has very many', () => {
  const points = (count: number) => Array.from({ length: count }, (_, index) => ({ kind: 'k', nth: index + 1 }))
  expect(failingPoints(points(100)).length).toBe(100)
  expect(failingPoints(points(500)).length).toBe(20)
  expect(failingPoints(points(10_100)).map(({ nth }) => nth)).toEqual([1, 5051, 10_100])
  // Each of these is another kind.
  const kinds = Array.from({ length: 300 }, (_, index) => ({ kind: `k${index}` }))
  expect(failingPoints(kinds).length).toBe(300)
})

/** More calls of a type than are tried at several places. */
const MANY = 3_400
/** A run with very many calls, made of the one call of another. */
function manyCalls(count: number, one: RunCommand): RunCommand {
  return async (asked) => {
    const { scenario } = asked
    const target = Number(/\.(\d+)-/.exec(scenario?.name ?? '')?.[1] ?? 0)
    const run = await one({ ...asked, scenario: null })
    const [call] = run.calls
    if (!call) throw new Error('the program calls nothing')
    const calls = Array.from({ length: count }, (_, index): ObservedRun['calls'][number] => {
      const nth = index + 1
      const isHit = scenario !== null && (nth === target || (scenario.name.includes('forever') && nth > target))
      const id = `t${nth}`
      return {
        ...call,
        point: { ...call.point, id: `${call.point.kind}.${nth}`, nth },
        client: { ...call.client, number: nth, until: nth, trace: id, request: `r${nth}` },
        trace: { ...call.trace, id, faults: isHit ? [String(scenario?.rules[0]?.name)] : [] },
      }
    })
    return { ...run, calls, kept: new Set(['t1', `t${count}`]) }
  }
}

test('explore: needs few runs and little memory for a program of 3,400 calls', async () => {
  const kept: string[] = []
  const { run } = modelProgram([site('a')])
  const found = await explore(
    optionsOf(manyCalls(MANY, run), {
      classes: ['server-error-once', 'server-error-forever', 'context-length'],
      notify: ({ tried }) => kept.push(JSON.stringify(tried)),
    }),
  )
  expect(found.runs).toBeLessThan(30)
  expect(found.cases.map(({ verdict }) => verdict)).toEqual(Array.from({ length: 9 }, () => 'swallowed'))
  expect(found.skipped.length).toBe(3 * (MANY - 3))
  expect(new Set(found.skipped.map(({ why }) => why))).toEqual(new Set(['similar']))
  expect(Math.max(...kept.map(({ length }) => length))).toBeLessThan(MANY)
  expect(printed(found)).toContain(`not run   ${3 * (MANY - 3)} cases of ${MANY - 3} calls that are similar to others`)
})

const ABOUT = { command: ['npm', 'test'], seed: 1 }
const STATE = join(folder.path, 'state.jsonl')
/** Opens the state, for a disk with enough space. */
const stateIn = (path: string, resume: boolean) =>
  keptState(path, ABOUT, {
    resume,
    warn(message) {
      throw new Error(message)
    },
  })
const tried = (point: string, text = ''): TriedCase => ({
  following: [],
  discovered: [],
  result: {
    ...{
      point,
      class: 'auth',
      verdict: 'tolerated',
      why: 'so',
      traces: [],
      calls: [],
      scenario: null,
      output: text,
      code: 0,
    },
    ...{ tookMs: 1, derived: false, mistake: null, unstored: 0 },
  },
})

test('explore state: loses at most the last result when the process is killed', async () => {
  const script = join(folder.path, 'writes.ts')
  const module = join(import.meta.dir, '..', '..', 'src', 'cli', 'run', 'explore-state.ts')
  writeFileSync(
    script,
    `import { keptState } from ${JSON.stringify(module)}
const state = keptState(${JSON.stringify(folder.path)}, ${JSON.stringify(ABOUT)}, { resume: false, warn(text) { throw new Error(text) } })
const result = ${JSON.stringify(tried('p', 'x'.repeat(20_000)).result)}
for (let number = 0; ; number++) {
  state.add({ following: [], discovered: [], result: { ...result, point: 'p' + number } })
  console.log(number)
}
`,
  )
  for (let round = 0; round < 3; round++) {
    const child = Bun.spawn([process.execPath, script], { stdout: 'pipe', stderr: 'inherit' })
    const reader = child.stdout.getReader()
    let printed = ''
    while (printed.split('\n').length < 10 + round) printed += new TextDecoder().decode((await reader.read()).value)
    child.kill('SIGKILL')
    await child.exited
    const { before } = stateIn(folder.path, true)
    expect(before.size).toBeGreaterThanOrEqual(9 + round)
    expect([...before.values()].map(({ result }) => result.point)).toEqual(
      Array.from({ length: before.size }, (_, number) => `p${number}`),
    )
  }
})

test('explore state: grows by what is added, and the last result of a case counts', () => {
  const state = stateIn(folder.path, false)
  const sizes = ['a', 'b', 'c', 'd'].map((point) => {
    state.add(tried(point, 'x'.repeat(1_000)))
    return statSync(STATE).size
  })
  expect(new Set(sizes.slice(1).map((size, index) => size - Number(sizes[index]))).size).toBe(1)
  state.add(tried('b', 'another'))
  const { before } = stateIn(folder.path, true)
  expect([before.size, before.get('b-auth')?.result.output]).toEqual([4, 'another'])
})

test.skipIf(process.platform !== 'linux')(
  'explore state: continues without it, with one warning, when the disk is full',
  () => {
    const warnings: string[] = []
    const state = keptState(folder.path, ABOUT, { resume: false, warn: (message) => warnings.push(message) })
    rmSync(STATE)
    symlinkSync('/dev/full', STATE)
    for (const point of ['a', 'b']) state.add(tried(point))
    rmSync(STATE)
    expect(warnings).toEqual([expect.stringMatching(/state\.jsonl cannot be written: ENOSPC.*--resume will run later/)])
  },
)

test('explore state: is rejected with a reason when it is invalid, or of another version or command', () => {
  const go = (text: string) => () => {
    writeFileSync(STATE, text)
    stateIn(folder.path, true)
  }
  const head = `${JSON.stringify({ version: 4, ...ABOUT })}\n`
  const line = `${JSON.stringify(tried('p'))}\n`
  expect(go(head + line)).not.toThrow()
  const invalid: [string, string][] = [
    [head + line.slice(20) + line, `cannot read ${STATE}: `],
    ['', `cannot continue: ${STATE} is not a state file of this version`],
    [head.slice(0, -2), `cannot continue: ${STATE} is not a state file of this version`],
    ['null\n', `cannot continue: ${STATE} is not a state file of this version`],
    [head.replace('4', '3'), `cannot continue: ${STATE} is not a state file of this version`],
    [head + line.replace('"following":[],', ''), `cannot continue: ${STATE} is not a state file of this version`],
    [head.replace('"npm"', '"bun"') + line, `cannot continue: ${STATE} belongs to "bun test" with seed 1`],
  ]
  for (const [text, message] of invalid) {
    expect(go(text)).toThrow(ConfigError)
    expect(go(text)).toThrow(`--resume ${message}`)
    expect(go(text)).toThrow('omit --resume')
    expect(readFileSync(STATE, 'utf8')).toBe(text)
  }
  // An incomplete last line is that of a process that was killed: its case runs again.
  expect(go(head + line + line.slice(0, -5))).not.toThrow()
  expect(readFileSync(STATE, 'utf8')).toBe(head + line)
  stateIn(folder.path, false)
  expect(stateIn(folder.path, true).before.size).toBe(0)
})
