// What explore stores and reports for programs with very many calls, for dropped traces, and for interrupted explorations.
import { afterAll, expect, test } from 'bun:test'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { exploreLines } from '../../src/cli/print/explore-matrix.ts'
import { keptState } from '../../src/cli/print/explore-outputs.ts'
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

test('explore: needs few runs and little memory for a program of 10,100 calls', async () => {
  const kept: string[] = []
  const { run } = modelProgram([site('a')])
  const found = await explore(
    optionsOf(manyCalls(10_100, run), {
      classes: ['server-error-once', 'server-error-forever', 'context-length'],
      notify: ({ tried }) => kept.push(JSON.stringify(tried)),
    }),
  )
  expect(found.runs).toBeLessThan(30)
  expect(found.cases.map(({ verdict }) => verdict)).toEqual(Array.from({ length: 9 }, () => 'swallowed'))
  expect(found.skipped.length).toBe(3 * (10_100 - 3))
  expect(new Set(found.skipped.map(({ why }) => why))).toEqual(new Set(['similar']))
  expect(Math.max(...kept.map(({ length }) => length))).toBeLessThan(20_000)
  expect(printed(found)).toContain('not run   30291 cases of 10097 calls that are similar to others')
})

const ABOUT = { command: ['npm', 'test'], seed: 1 }
const STATE = join(folder.path, 'state.json')
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

test('explore state: is complete whenever the process is ended', async () => {
  const script = join(folder.path, 'writes.ts')
  const outputs = join(import.meta.dir, '..', '..', 'src', 'cli', 'print', 'explore-outputs.ts')
  writeFileSync(
    script,
    `import { keptState } from ${JSON.stringify(outputs)}
const state = keptState(${JSON.stringify(folder.path)}, ${JSON.stringify(ABOUT)}, false)
const result = ${JSON.stringify(tried('p', 'x'.repeat(20_000)).result)}
console.log('begun')
for (let number = 0; ; number = (number + 1) % 300) { state.add({ following: [], discovered: [], result: { ...result, point: 'p' + number } }); state.save() }
`,
  )
  for (let round = 0; round < 5; round++) {
    const child = Bun.spawn([process.execPath, script], { stdout: 'pipe', stderr: 'inherit' })
    const reader = child.stdout.getReader()
    await reader.read()
    const started = performance.now()
    while (performance.now() - started < 40 + round * 17) await Bun.file(STATE).stat()
    child.kill('SIGKILL')
    await child.exited
    const { cells } = JSON.parse(readFileSync(STATE, 'utf8'))
    expect(keptState(folder.path, ABOUT, true).before.size).toBe(cells.length)
  }
})

test('explore state: is rejected with a reason when it is torn, or of another version or command', () => {
  const go = (text: string) => () => {
    writeFileSync(STATE, text)
    keptState(folder.path, ABOUT, true)
  }
  const whole = JSON.stringify({ version: 3, ...ABOUT, cells: [tried('p')] })
  expect(go(whole)).not.toThrow()
  const invalid: [string, string][] = [
    [whole.slice(0, -20), `cannot read ${STATE}: `],
    ['', `cannot read ${STATE}: `],
    ['null', `cannot continue: ${STATE} is not a state file of this version`],
    [JSON.stringify({ ...ABOUT, cells: [] }), `cannot continue: ${STATE} is not a state file of this version`],
    [whole.replace('"following":[],', ''), `cannot continue: ${STATE} is not a state file of this version`],
    [whole.replace('"npm"', '"bun"'), `cannot continue: ${STATE} belongs to "bun test" with seed 1`],
  ]
  for (const [text, message] of invalid) {
    expect(go(text)).toThrow(ConfigError)
    expect(go(text)).toThrow(`--resume ${message}`)
    expect(go(text)).toThrow('omit --resume')
    expect(readFileSync(STATE, 'utf8')).toBe(text)
  }
  keptState(folder.path, ABOUT, false)
  expect(keptState(folder.path, ABOUT, true).before.size).toBe(0)
  expect(existsSync(`${STATE}.new`)).toBe(false)
})
