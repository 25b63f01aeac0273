// Programs with a planted mistake under explore as processes, in each test runner: every run starts the runner.
import { afterAll, expect, setDefaultTimeout, test } from 'bun:test'
import { cpSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { expectMistake, type Manner, type Planted, PROGRAMS, type Report } from '../support/explore-mistakes.ts'
import { createLimit } from '../support/limit.ts'
import { HAS_PYTEST, PYTEST_ENV, PYTHON } from '../support/python.ts'
import { EXECUTABLE, emptyFolder, environment } from '../support/server.ts'

setDefaultTimeout(120_000)
const root = join(import.meta.dir, '..', '..')
const programs = join(root, 'test', 'support', 'explore-programs')

const folder = emptyFolder()
afterAll(folder.remove)
cpSync(programs, folder.path, { recursive: true })
symlinkSync(join(root, 'node_modules'), join(folder.path, 'node_modules'))
// With their SDKs in one file: Node's own runner and Jest would read hundreds of files in every run. Vitest reads them as fast as one.
await Bun.build({
  entrypoints: ['title', 'translation'].map((name) => join(programs, name, 'careless.mjs')),
  ...{ outdir: folder.path, root: programs, naming: '[dir]/[name].mjs', target: 'node', minify: true },
})

const tool = (...path: string[]) => join(root, 'node_modules', ...path)
const JEST = ['node', '--experimental-vm-modules', '--no-warnings', tool('jest', 'bin', 'jest.js'), '--transform={}']
// Without its cache of transformed files, since there are none.
const JEST_OPTIONS = ['--runInBand', '--no-cache', '--runTestsByPath']
const RUN_TESTS = 'import test_check as t\nfor n, f in list(vars(t).items()): n.startswith("test_") and f()'
const PYTHON_ALONE = [PYTHON, '-c', RUN_TESTS]
const PYTEST = HAS_PYTEST ? [PYTHON, '-m', 'pytest', '-q', '-p', 'no:cacheprovider', 'test_check.py'] : PYTHON_ALONE

/** Programs as processes: one in each test runner, those that are explored often in those that start soon. */
const IN_RUNNERS: [name: string, planted: Planted, command: string[]][] = [
  ['story', PROGRAMS.story, ['node', tool('vitest', 'vitest.mjs'), 'run', '--no-color', 'vitest.test.mjs']],
  ['title', PROGRAMS.title, [...JEST, ...JEST_OPTIONS, './jest.test.mjs']],
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

/** Two at a time: some wait, and some work. */
const limited = createLimit(2)

test.concurrent.each(IN_RUNNERS)(
  'explore: shows the mistake of %s in its test runner',
  async (name, planted, command) => {
    const { code, report } = await limited(() => exploreCommand(name, 'careless', { mode: planted.mode, command }))
    expectMistake(report, planted)
    expect(code).toBe(3)
  },
)

// In what starts soon: the others were seen to pass without a fault.
const SOON = IN_RUNNERS.filter(([, , [first]]) => first !== 'node').map(
  ([name, { mode }, command]) => [name, mode, command === PYTEST ? PYTHON_ALONE : command] as const,
)
test.concurrent.each(SOON)('explore: shows no problem of the careful twin of %s', async (name, mode, command) => {
  const { code, printed, report } = await limited(() => exploreCommand(name, 'careful', { mode, command }))
  expect([code, report.problems, printed]).toEqual([0, [], expect.stringContaining('PASS')])
})
