// The examples under explore: every mistake planted in a careless program fails its case, and the careful twin passes. They run in this
// process; test/slow/examples-runners.test.ts runs their own tests as readers do.
import { afterAll, beforeAll, expect, setDefaultTimeout, spyOn, test } from 'bun:test'
import { AsyncLocalStorage } from 'node:async_hooks'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { exploreLines } from '../../src/cli/print/explore-matrix.ts'
import { repeater } from '../../src/cli/print/explore-repeat.ts'
import type { ExploreProblem, FailureModeName, ProblemKind } from '../../src/contract/core/exploration.ts'
import type { Exploration } from '../../src/exploration/explore.ts'
import { exploreProblems } from '../../src/exploration/problems.ts'
import { plainLines } from '../support/cli.ts'
import { exploreProgram, reportOf } from '../support/explore.ts'
import type { Program, Surroundings } from '../support/programs/surroundings.ts'

// The programs wait by themselves, for seconds.
setDefaultTimeout(120_000)
const root = join(import.meta.dir, '..', '..')

/** What the test of an example does with its program; it fails by throwing. */
type Use = (act: (...args: unknown[]) => Promise<unknown>) => Promise<void>
interface Example {
  /** What its program exports. */
  act: string
  use: Use
  /** The mistakes of its careless program, by the class whose cell finds it. */
  mistakes: Partial<Record<FailureModeName, RegExp>>
  /** Its first problem. */
  worst: ProblemKind
}
const check = (isSo: boolean, message: string) => {
  if (!isSo) throw new Error(message)
}
/** As the test of each example does. */
const EXAMPLES: Record<string, Example> = {
  'ticket-tool': {
    act: 'ticketOf',
    async use(ticketOf) {
      const { topic, urgent } = (await ticketOf('My parcel has not come.')) as { topic: string; urgent: boolean }
      check(['delivery', 'invoice', 'other'].includes(topic), `no topic: ${topic}`)
      check(typeof urgent === 'boolean', `urgent is ${urgent}`)
    },
    mistakes: {
      'invalid-json': /^swallowed: /m,
      'context-length': /^misbehaved: .*retried 2 times/m,
      'server-error-once': /^failed: /m,
    },
    worst: 'swallowed',
  },
  summarizer: {
    act: 'summaryOf',
    async use(summaryOf) {
      const text = 'Sum up: the parcel came a day late, and nobody was told.'
      const { summary, complete } = (await summaryOf(text)) as { summary: unknown; complete: boolean }
      check(typeof summary === 'string', `the summary is ${summary}`)
      check(complete || summary === '', 'a part of a summary')
    },
    mistakes: { timeout: /^hung: /m, stall: /^hung: /m, 'cut-stream': /^swallowed: /m },
    worst: 'swallowed',
  },
  'parcel-agent': {
    act: 'answerOf',
    async use(answerOf) {
      const booked: unknown[] = []
      const answer = await answerOf('Please fetch my parcel.', async (street: unknown) => booked.push(street))
      check(String(answer).length > 0, 'no answer')
      check(booked.length <= 1, `${booked.length} couriers come`)
      check(
        booked.every((street) => typeof street === 'string'),
        'a courier without a street',
      )
    },
    mistakes: { 'server-error-once': /^failed: .*tool-repeated: book_courier/m, timeout: /^failed: /m },
    worst: 'duplicate-side-effect',
  },
}

let loads = 0
let loading: Promise<unknown> = Promise.resolve()
/** Loads a file anew, which reads its addresses from the environment while it is loaded: one after the other. */
function loadIn(env: NodeJS.Dict<string>, file: string): Promise<Record<string, Parameters<Use>[0]>> {
  const loaded = loading.then(async () => {
    const names = ['OPENAI_BASE_URL', 'OPENAI_API_KEY']
    const before = names.map((name) => [name, process.env[name]] as const)
    for (const name of names) process.env[name] = env[name] ?? ''
    try {
      return await import(`${file}?${++loads}`)
    } finally {
      for (const [name, value] of before)
        if (value === undefined) delete process.env[name]
        else process.env[name] = value
    }
  })
  loading = loaded.catch(() => {})
  return loaded
}
/** The programs call and log with what is global, which here is that of their run. */
const surroundingsOfRun = new AsyncLocalStorage<Pick<Surroundings, 'fetch' | 'say'>>()
const { fetch } = globalThis
globalThis.fetch = Object.assign(
  (...asked: Parameters<typeof fetch>) => (surroundingsOfRun.getStore()?.fetch ?? fetch)(...asked),
  { preconnect: fetch.preconnect },
)
const log = spyOn(console, 'error').mockImplementation((...said: unknown[]) =>
  surroundingsOfRun.getStore()?.say(said.map(String).join(' ')),
)
afterAll(() => {
  globalThis.fetch = fetch
  log.mockRestore()
})
const programOf =
  (file: string, { act, use }: Example): Program =>
  ({ env, fetch, say }) =>
    surroundingsOfRun.run({ fetch, say }, async () => {
      const run = (await loadIn({ ...env }, file))[act]
      if (!run) throw new Error(`${file} has no ${act}`)
      await use(run)
    })

interface Explored {
  found: Exploration
  problems: readonly ExploreProblem[]
}
/** Each is explored once, by its name and its manner. */
const explored = new Map<string, Promise<Explored>>()
/** Clients wait in real time here: what is explored is what users have. */
const settings = { timeOverrides: {} }
beforeAll(() => {
  for (const [name, example] of Object.entries(EXAMPLES)) {
    const explore = async (manner: 'careful' | 'careless', more: Parameters<typeof exploreProgram>[1]) => {
      const found = await exploreProgram(programOf(join(root, 'examples', name, `${manner}.mjs`), example), {
        settings,
        ...more,
      })
      return { found, problems: exploreProblems(found.cases, found.points) }
    }
    // What hangs is soon known to hang. One run at a time: of two cells, one may stand for the other, whichever comes first.
    const classes = Object.keys(example.mistakes) as FailureModeName[]
    explored.set(`careless ${name}`, explore('careless', { classes, limitMs: 3_000 }))
    explored.set(`careful ${name}`, explore('careful', { jobs: 4 }))
  }
})
async function resultOf(which: string): Promise<Explored> {
  const result = await explored.get(which)
  if (!result) throw new Error(`${which} was not explored`)
  return result
}

test.each(Object.entries(EXAMPLES))(
  'example %s: fails when careless and passes when careful',
  async (name, { mistakes, worst }) => {
    const careless = await resultOf(`careless ${name}`)
    for (const [mistake, verdict] of Object.entries(mistakes)) {
      const found = careless.found.cases
        .filter((cell) => cell.class === mistake)
        .map((cell) => `${cell.verdict}: ${cell.why}`)
      expect(found.join('\n')).toMatch(verdict)
    }
    expect(careless.problems[0]).toMatchObject({ kind: worst, severity: 'error' })
    expect(careless.problems.length).toBeLessThanOrEqual(3)
    const careful = await resultOf(`careful ${name}`)
    expect(careful.problems).toEqual([])
    expect(careful.found.cases.filter(({ verdict }) => verdict === 'tolerated').length).toBeGreaterThan(5)
  },
)

test('docs/explore.md: shows what the first example prints', async () => {
  const shown =
    /```\n(Understudy: [\s\S]*?)```/.exec(readFileSync(join(root, 'docs', 'explore.md'), 'utf8'))?.[1] ?? 'nothing'
  const { found, problems } = await resultOf('careless ticket-tool')
  const repeat = repeater(['npx', 'vitest', 'run'], {})
  const lines = plainLines(exploreLines({ ...reportOf(found), problems, repeat, width: 80 }))
  const printed = lines.map((line) => line.trimEnd())
  expect(shown.split('\n').filter((line) => !printed.includes(line))).toEqual([])
})
