// Programs with a planted mistake under explore: clients wait in real time. They are functions of this process; some also run in each
// test runner, as processes.
import { afterAll, expect, setDefaultTimeout, test } from 'bun:test'
import { cpSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import type { FailureModeName, ProblemKind } from '../../src/contract/core/exploration.ts'
import { exploreProgram, jsonOf } from '../support/explore.ts'
import { connectionOf } from '../support/programs/surroundings.ts'
import { HAS_PYTEST, PYTEST_ENV, PYTHON } from '../support/python.ts'
import { EXECUTABLE, emptyFolder, environment } from '../support/server.ts'

setDefaultTimeout(120_000)
const root = join(import.meta.dir, '..', '..')
const programs = join(root, 'test', 'support', 'explore-programs')

const FEW_MODES: FailureModeName[] = [
  ...(['server-error-once', 'rate-limit-once', 'timeout', 'invalid-json', 'empty-response', 'auth'] as const),
]

interface Planted {
  /** Its first problem, and a failure mode that shows it. */
  kind: ProblemKind
  mode: FailureModeName
  message: RegExp
  /** Whether its careful twin is explored under the few failure modes as well, and not under all. */
  few?: true
  /** Whether the mistake is the first problem of all failure modes, and not of the few and its own. */
  all?: true
}
const PROGRAMS = {
  // OpenAI SDK, whole: no retries.
  title: { kind: 'failed', mode: 'server-error-once', message: /failed with exit code 1/, few: true },
  // Anthropic SDK, whole, two calls: a failed call is ignored.
  translation: { kind: 'lost-work', mode: 'server-error-once', message: /did not retry/, few: true },
  // OpenAI SDK, stream: a truncated stream counts as complete.
  story: { kind: 'swallowed', mode: 'cut-stream', message: /did not retry/, all: true },
  // Anthropic API through fetch, stream: no timeout.
  news: { kind: 'hung', mode: 'timeout', message: /without activity/ },
  // AI SDK, tools, three calls: a failure starts everything again.
  refund: { kind: 'duplicate-side-effect', mode: 'timeout', message: /issue_refund .* 2 times/ },
  // AI SDK, structured output: a default instead of invalid JSON.
  ticket: { kind: 'swallowed', mode: 'invalid-json', message: /did not retry/, few: true },
  // OpenAI SDK, embeddings: a misspelled fallback.
  search: { kind: 'misbehaved', mode: 'server-error-once', message: /opnai/, few: true },
  // OpenAI SDK, tools, two calls: arguments are not checked.
  weather: { kind: 'swallowed', mode: 'wrong-arguments', message: /did not retry/ },
  // AI SDK, stream: errors of the stream are ignored.
  poem: { kind: 'lost-work', mode: 'server-error-once', message: /did not retry/ },
  // Anthropic SDK, three calls: endless retries.
  chapters: { kind: 'hung', mode: 'auth', message: /the same request \d+ times/, few: true },
} satisfies Record<string, Planted>
type Manner = 'careful' | 'careless'

interface Report {
  verdict: string
  problems: { kind: ProblemKind; severity: string; message: string; failure_modes: string[] }[]
  cases: { injection_point: string; failure_mode: string; result: string }[]
}
/** Explores a program as a function: its check fails by throwing. */
async function explore(name: string, manner: Manner, more: Parameters<typeof exploreProgram>[1]): Promise<Report> {
  const { check } = await import(join(programs, name, 'check.mjs'))
  const program = await import(join(programs, name, `${manner}.mjs`))
  return jsonOf(
    await exploreProgram((surroundings) => check(program, connectionOf(surroundings)), {
      ...{ settings: { timeOverrides: {} }, jobs: 4 },
      ...more,
    }),
  )
}

function expectMistake({ verdict, problems }: Report, { kind, mode, message }: Planted) {
  const [first] = problems
  expect(first).toMatchObject({ kind, message: expect.stringMatching(message) })
  expect(first?.failure_modes).toContain(mode)
  expect([verdict, problems.length <= 3]).toEqual(['fail', true])
}

test.each(Object.entries<Planted>(PROGRAMS))(
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

test.each(['weather', 'story', 'poem'])('explore: reports the same problems of %s every time', async (name) => {
  const classes: FailureModeName[] = [
    ...(['server-error-once', 'server-error-forever', 'cut-stream', 'wrong-arguments', 'auth'] as const),
  ]
  const resultsOf = async (more: Parameters<typeof exploreProgram>[1]) => {
    const { verdict, problems, cases } = await explore(name, 'careless', { classes, ...more })
    return {
      results: [verdict, ...cases.map((one) => [one.injection_point, one.failure_mode, one.result])],
      // The figures of a run that was ended differ from run to run.
      problems: problems.map(({ message, ...more }) => ({ ...more, message: message.replace(/\d+(?:\.\d+)?/g, '0') })),
    }
  }
  expect(await resultsOf({ jobs: 4, prune: false })).toEqual(await resultsOf({ jobs: 1 }))
})

const folder = emptyFolder()
afterAll(folder.remove)
cpSync(programs, folder.path, { recursive: true })
symlinkSync(join(root, 'node_modules'), join(folder.path, 'node_modules'))
// With its SDK in one file: Node's own runner is quick, and would read hundreds of files in every run.
await Bun.build({
  entrypoints: [join(programs, 'translation', 'careless.mjs')],
  ...{ outdir: join(folder.path, 'translation'), naming: '[name].mjs', target: 'node' },
})

const tool = (...path: string[]) => join(root, 'node_modules', ...path)
const JEST = ['node', '--experimental-vm-modules', '--no-warnings', tool('jest', 'bin', 'jest.js'), '--transform={}']
const RUN_TESTS = 'import test_check as t\nfor n, f in list(vars(t).items()): n.startswith("test_") and f()'
const PYTHON_ALONE = [PYTHON, '-c', RUN_TESTS]
const PYTEST = HAS_PYTEST ? [PYTHON, '-m', 'pytest', '-q', '-p', 'no:cacheprovider', 'test_check.py'] : PYTHON_ALONE

/** Programs as processes: one in each test runner, those that are explored often in those that start soon. */
const IN_RUNNERS: [name: string, planted: Planted, command: string[]][] = [
  ['story', PROGRAMS.story, ['node', tool('vitest', 'vitest.mjs'), 'run', '--no-color', 'vitest.test.mjs']],
  ['title', PROGRAMS.title, [...JEST, '--runInBand', '--runTestsByPath', './jest.test.mjs']],
  ['translation', PROGRAMS.translation, ['node', '--test', 'node.test.mjs']],
  ['weather', PROGRAMS.weather, [process.execPath, 'test', './bun.test.mjs']],
  // urllib, whole: Retry-After is ignored.
  ['greeting', { kind: 'misbehaved', mode: 'rate-limit-once', message: /^early-retry/ }, PYTEST],
  // urllib, embeddings, two calls: a failed batch is left out.
  ['passages', { kind: 'lost-work', mode: 'timeout', message: /did not retry/ }, PYTHON_ALONE],
]
let explorations = 0
async function exploreCommand(name: string, manner: Manner, { mode, command }: { mode: string; command: string[] }) {
  const out = join(folder.path, `out-${++explorations}`)
  const args = [
    'explore',
    '--out',
    out,
    '--json-file',
    `${out}.json`,
    '--failure-mode',
    mode,
    '--jobs',
    '1',
    '--',
    ...command,
  ]
  const inPython = command[0] === PYTHON
  const child = Bun.spawn([EXECUTABLE, ...args], {
    cwd: inPython ? join(folder.path, name) : folder.path,
    env: environment({
      PROGRAM: inPython ? manner : `${name}/${manner}`,
      ...PYTEST_ENV,
      HOME: folder.path,
    }),
    ...{ stdout: 'pipe', stderr: 'pipe' },
  })
  const printed = await Promise.all([child.stdout, child.stderr].map((stream) => new Response(stream).text()))
  const code = await child.exited
  const report: Report = JSON.parse(readFileSync(`${out}.json`, 'utf8'))
  return { code, printed: printed.join(''), report }
}

test.each(IN_RUNNERS)('explore: shows the mistake of %s in its test runner', async (name, planted, command) => {
  const { code, report } = await exploreCommand(name, 'careless', { mode: planted.mode, command })
  expectMistake(report, planted)
  expect(code).toBe(3)
})

// In those that start soon: the others were seen to pass without a fault.
test.each(IN_RUNNERS.filter(([, , [first]]) => first !== 'node'))(
  'explore: shows no problem of the careful twin of %s in its test runner',
  async (name, { mode }, command) => {
    const { code, printed, report } = await exploreCommand(name, 'careful', { mode, command })
    expect([code, report.problems, printed]).toEqual([0, [], expect.stringContaining('PASS')])
  },
)
