// Pruning saves runs and changes no case, and two explorations of a program find the same.
import { expect, setDefaultTimeout } from 'bun:test'
import type { FailureModeName } from '../../src/contract/core/exploration.ts'
import type { Exploration, ExploreOptions } from '../../src/exploration/explore.ts'
import { CallFailure, calling, exploreProgram, jsonOf, type Model, user } from '../support/explore.ts'
import type { Program } from '../support/programs/surroundings.ts'
import { property, runs } from '../support/property.ts'

// Fifteen explorations, on a machine that may be busy.
setDefaultTimeout(120_000)

/** Asks with three tries, unless the request itself is wrong. */
async function patient({ ask, wait }: Model, content: string): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      await ask({ messages: [user(content)] })
      return
    } catch (error) {
      if (tries === 3 || (error instanceof CallFailure && error.status === 400)) throw error
      await wait((error instanceof CallFailure && error.after) || 20 * tries)
    }
  }
}
const HI = { messages: [user('Hi')] }
const inSession = (name: string) => ({ headers: { 'x-understudy-session': name } })

const PROGRAMS = {
  // The last item matters, and is asked for once; the others may fail.
  loop: calling(async (model) => {
    for (const item of ['one', 'two', 'three']) await patient(model, item).catch(() => {})
    await model.ask({ messages: [user('four')] })
  }),
  // Two users at the same time, each in a session, with another model where the first fails; one of them looks at nothing.
  fallback: calling(async ({ ask }) => {
    const careful = inSession('careful')
    await Promise.all([
      ask(HI, careful).catch(() => ask({ ...HI, model: 'openai/gpt-4o-mini' }, careful)),
      ask(HI, inSession('careless')).catch(() => {}),
    ])
  }),
  // Three calls that look alike from outside, one of which fails the command.
  sites: calling(async (model) => {
    await patient(model, 'a')
    await model.ask({ messages: [user('b')] })
    await patient(model, 'c')
  }),
  // The first may fail, and nothing is called again; but what comes later may not.
  later: calling(async ({ ask }) => {
    await ask({ messages: [user('a')] }).catch(() => {})
    await ask({ messages: [user('b')] })
  }),
  // Whoever is broken first, the other does not come.
  coupled: calling(async ({ ask }) => {
    try {
      await ask(HI, inSession('first'))
      await ask(HI, inSession('second'))
    } catch {}
  }),
} satisfies Record<string, Program>
const CLASSES: FailureModeName[] = ['server-error-once', 'server-error-forever', 'context-length']

type Name = keyof typeof PROGRAMS
const WAYS = { first: {}, second: { jobs: 2 }, whole: { prune: false } } satisfies Record<
  string,
  Partial<ExploreOptions>
>
type Way = keyof typeof WAYS
const found = new Map<string, Promise<Exploration>>()
/** Explores once what several tests compare. */
function explorationOf(name: Name, way: Way): Promise<Exploration> {
  const key = `${name} ${way}`
  const exploration = found.get(key) ?? exploreProgram(PROGRAMS[name], { classes: CLASSES, ...WAYS[way] })
  found.set(key, exploration)
  return exploration
}
const withoutFigures = ({ message, ...problem }: ReturnType<typeof jsonOf>['problems'][number]) => ({
  ...problem,
  message: message.replace(/\d+(\.\d+)? m?s/g, '? s'),
})
const matrixOf = ({ cases }: Exploration) =>
  cases.map(({ point, class: name, verdict }) => `${point} ${name} ${verdict}`).sort()

const ALL: [Name, { saved: number; verdicts: string[] }][] = [
  // After the last call of a kind, a fault for ever is the same as once.
  ['loop', { saved: 1, verdicts: ['failed', 'failed-cleanly', 'tolerated'] }],
  ['fallback', { saved: 2, verdicts: ['swallowed', 'tolerated'] }],
  ['sites', { saved: 1, verdicts: ['failed', 'failed-cleanly', 'tolerated'] }],
  ['later', { saved: 1, verdicts: ['failed', 'failed-cleanly', 'swallowed'] }],
  ['coupled', { saved: 2, verdicts: ['swallowed'] }],
]
/** An exploration takes half a second and each program three: a quick run has two of the programs. */
const NAMES = ALL.slice(0, Math.max(2, runs(ALL.length)))

property.each(NAMES)(
  'explore of %s: finds the same cases with and without pruning, in fewer runs',
  async (name, { saved, verdicts }) => {
    const [pruned, whole] = [await explorationOf(name, 'first'), await explorationOf(name, 'whole')]
    expect(matrixOf(pruned)).toEqual(matrixOf(whole))
    expect(jsonOf(pruned).problems.map(withoutFigures)).toEqual(jsonOf(whole).problems.map(withoutFigures))
    expect([...new Set(pruned.cases.map(({ verdict }) => String(verdict)))].sort()).toEqual(verdicts)
    expect([pruned.saved, whole.saved]).toEqual([saved, 0])
    expect(pruned.runs).toBeLessThan(whole.runs)
  },
)

property.each(NAMES)(
  'explore of %s: finds the same in two explorations, however many runs are parallel',
  async (name) => {
    const told = (exploration: Exploration) => {
      const { cases, problems, ...others } = jsonOf(exploration)
      const scenarios = exploration.cases.map(({ scenario }) => scenario)
      // Figures of waits differ, and ids of traces.
      const compared = cases.map(({ traces, reason, ...cell }) => ({
        ...cell,
        traces: traces.length,
        reason: reason.replace(/\d+(\.\d+)? m?s/g, '? s'),
      }))
      return { ...others, problems: problems.map(withoutFigures), runs: 0, scenarios, cases: compared }
    }
    const [first, second] = [await explorationOf(name, 'first'), await explorationOf(name, 'second')]
    expect(told(second)).toEqual(told(first))
  },
)
