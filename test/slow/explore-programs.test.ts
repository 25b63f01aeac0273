// Generated programs: pruning changes no verdict, and a tolerated case has lost nothing. Slow because each program is explored twice, in dozens
// of runs; EXPLORE_PROGRAMS=1000 searches longer.
import { expect, setDefaultTimeout, test } from 'bun:test'
import fc from 'fast-check'
import { type CaseResult, caseName, type FailureModeName } from '../../src/contract/core/exploration.ts'
import { explore } from '../../src/exploration/explore.ts'
import { type Handling, lostItems, modelProgram, type Site, type Step } from '../support/model-programs.ts'

setDefaultTimeout(600_000)
const PROGRAMS = Number(process.env.EXPLORE_PROGRAMS ?? 20)
const SEED = Number(process.env.EXPLORE_SEED ?? 27)
const CLASSES: FailureModeName[] = ['server-error-once', 'server-error-forever', 'context-length']

const handling: fc.Arbitrary<Handling> = fc.record({
  retries: fc.constantFrom(0, 0, 1, 2),
  fallback: fc.constantFrom(false, false, true),
  spare: fc.boolean(),
  end: fc.constantFrom('throw' as const, 'drop' as const),
})
// Few texts, so that calls are often alike: in their kind, or altogether.
const site = (session: fc.Arbitrary<Site['session']>): fc.Arbitrary<Site> =>
  fc.record({
    kind: fc.constant('ask' as const),
    session,
    system: fc.constantFrom('Be brief.', 'Be kind.'),
    text: fc.constantFrom('a', 'b', 'c'),
    handling,
  })
const anySite = site(fc.constantFrom('one', 'one', 'two'))
const loop = fc.record<Step & { kind: 'loop' }>({
  kind: fc.constant('loop' as const),
  site: anySite,
  times: fc.integer({ min: 2, max: 4 }),
  sameText: fc.boolean(),
  odd: fc.option(fc.record({ at: fc.integer({ min: 0, max: 3 }), handling }), { nil: null }),
})
const both: fc.Arbitrary<Step> = fc.record({
  kind: fc.constant('both' as const),
  sites: fc.tuple(site(fc.constant('one')), site(fc.constant('two'))),
})
const simple: fc.Arbitrary<Step> = fc.oneof({ weight: 3, arbitrary: anySite }, loop, both)
const branch: fc.Arbitrary<Step> = fc.record({
  kind: fc.constant('branch' as const),
  on: fc.constantFrom('failed' as const, 'content' as const),
  yes: fc.array(simple, { minLength: 1, maxLength: 2 }),
  no: fc.array(simple, { maxLength: 1 }),
})
const program = fc.array(fc.oneof({ weight: 3, arbitrary: simple }, branch), { minLength: 1, maxLength: 3 })

async function explored(steps: readonly Step[], depth: 1 | 2, classes = CLASSES) {
  const { run, runOf } = modelProgram(steps)
  const base = {
    run,
    runOf,
    classes,
    depth,
    jobs: 1,
    limitMs: 1000,
    before: new Map(),
    hasTime: () => true,
    notify() {},
  }
  const pruned = await explore({ ...base, prune: true })
  return { pruned, whole: await explore({ ...base, prune: false }), runOf }
}
const goesOtherWays = (steps: readonly Step[]) => steps.some((step) => step.kind === 'branch' && step.on === 'failed')
const verdictsOf = (cells: readonly CaseResult[]) =>
  cells.map((cell) => `${caseName(cell)}: ${cell.verdict}`).toSorted()

test('property: pruning changes no verdict of a generated program, and a lost item is never tolerated', async () => {
  let derived = 0
  const seen = new Set<string>()
  await fc.assert(
    fc.asyncProperty(program, async (steps) => {
      const { pruned, whole, runOf } = await explored(steps, 1)
      expect(verdictsOf(pruned.cases)).toEqual(verdictsOf(whole.cases))
      expect([pruned.skipped, whole.skipped, whole.saved]).toEqual([[], [], 0])
      derived += pruned.cases.filter((cell) => cell.derived).length
      for (const { verdict, scenario, point, class: name } of whole.cases) {
        seen.add(verdict)
        const run = runOf(scenario?.name ?? '')
        if (verdict === 'tolerated') expect([point, name, ...lostItems(run, runOf(''))]).toEqual([point, name])
        // Whoever goes another way may ask less often what was asked again: that looks as if nothing had been.
        if (verdict === 'swallowed' && !goesOtherWays(steps))
          expect([point, name, run?.dropped.size]).not.toEqual([point, name, 0])
      }
    }),
    { numRuns: PROGRAMS, seed: SEED },
  )
  // The programs are such that something could have gone wrong.
  expect(derived).toBeGreaterThan(PROGRAMS / 2)
  expect([...seen].toSorted()).toEqual(['failed', 'misbehaved', 'swallowed', 'tolerated'])
})

test('property: pairs of faults give the same with and without pruning', async () => {
  let pairs = 0
  await fc.assert(
    fc.asyncProperty(program, async (steps) => {
      const { pruned, whole } = await explored(steps, 2, ['server-error-once', 'server-error-forever'])
      expect(verdictsOf(pruned.cases)).toEqual(verdictsOf(whole.cases))
      pairs += pruned.cases.filter((cell) => cell.derived && cell.class.includes('+')).length
    }),
    { numRuns: Math.ceil(PROGRAMS / 5), seed: SEED },
  )
  expect(pairs).toBeGreaterThan(0)
})
