// Programs with a planted mistake under explore: clients wait in real time. They are functions of this process; test/slow/explore-runners.test.ts
// runs some as processes.
import { expect, setDefaultTimeout, test } from 'bun:test'
import { join } from 'node:path'
import type { FailureModeName } from '../../src/contract/core/exploration.ts'
import { exploreProgram, jsonOf } from '../support/explore.ts'
import {
  expectMistake,
  FEW_MODES,
  type Manner,
  type Planted,
  PROGRAMS,
  type Report,
} from '../support/explore-mistakes.ts'
import { createLimit } from '../support/limit.ts'
import { connectionOf } from '../support/programs/surroundings.ts'

setDefaultTimeout(120_000)
const programs = join(import.meta.dir, '..', 'support', 'explore-programs')

/** Explorations wait more than they work; with more at a time, responses could come after the short timeouts of the programs. */
const limited = createLimit(3)

/** Explores a program as a function: its check fails by throwing. */
async function explore(name: string, manner: Manner, more: Parameters<typeof exploreProgram>[1]): Promise<Report> {
  const { check } = await import(join(programs, name, 'check.mjs'))
  const program = await import(join(programs, name, `${manner}.mjs`))
  const run = () =>
    exploreProgram((surroundings) => check(program, connectionOf(surroundings)), {
      ...{ settings: { timeOverrides: {} }, jobs: 4 },
      ...more,
    })
  return jsonOf(await limited(run))
}

test.concurrent.each(Object.entries<Planted>(PROGRAMS))(
  'explore: shows the mistake of %s first, and no problem of its careful twin',
  async (name, planted) => {
    const [careless, careful] = await Promise.all([
      // What hangs is soon known to hang.
      explore(name, 'careless', { classes: planted.all ? [] : [...FEW_MODES, planted.mode], limitMs: 5_000 }),
      explore(name, 'careful', { classes: planted.few ? FEW_MODES : [] }),
    ])
    expectMistake(careless, planted)
    expect(careful).toMatchObject({ problems: [], verdict: 'pass' })
  },
)

test.concurrent.each(['weather', 'story', 'poem'])(
  'explore: reports the same problems of %s every time',
  async (name) => {
    const classes: FailureModeName[] = [
      ...(['server-error-once', 'server-error-forever', 'cut-stream', 'wrong-arguments', 'auth'] as const),
    ]
    const resultsOf = async (more: Parameters<typeof exploreProgram>[1]) => {
      const { verdict, problems, cases } = await explore(name, 'careless', { classes, ...more })
      return {
        results: [verdict, ...cases.map((one) => [one.injection_point, one.failure_mode, one.result])],
        // The figures of a run that was ended differ from run to run.
        problems: problems.map(({ message, ...more }) => ({
          ...more,
          message: message.replace(/\d+(?:\.\d+)?/g, '0'),
        })),
      }
    }
    const [one, another] = await Promise.all([resultsOf({ jobs: 4, prune: false }), resultsOf({ jobs: 1 })])
    expect(one).toEqual(another)
  },
)
