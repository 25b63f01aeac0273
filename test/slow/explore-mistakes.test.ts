// Programs with a planted mistake under explore: their commands are test runners in processes of their own, and clients wait in real time.
import { afterAll, expect, setDefaultTimeout, test } from 'bun:test'
import { cpSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import type { ProblemKind } from '../../src/contract/core/exploration.ts'
import { EXECUTABLE, emptyFolder, environment } from '../support/server.ts'

setDefaultTimeout(300_000)
const root = join(import.meta.dir, '..', '..')
const folder = emptyFolder()
afterAll(folder.remove)
cpSync(join(root, 'test', 'support', 'explore-programs'), folder.path, { recursive: true })
symlinkSync(join(root, 'node_modules'), join(folder.path, 'node_modules'))

const tool = (...path: string[]) => join(root, 'node_modules', ...path)
const hasPytest = Bun.spawnSync(['python3', '-c', 'import pytest']).exitCode === 0
const RUN_TESTS = 'import test_check as t\nfor n, f in list(vars(t).items()): n.startswith("test_") and f()'
const RUNNERS = {
  vitest: ['node', tool('vitest', 'vitest.mjs'), 'run', '--no-color'],
  jest: [
    ...['node', '--experimental-vm-modules', '--no-warnings', tool('jest', 'bin', 'jest.js')],
    ...['--transform={}', '--runInBand', '--runTestsByPath', './check.test.mjs'],
  ],
  node: ['node', '--test', 'check.test.mjs'],
  bun: [process.execPath, 'test', './check.test.mjs'],
  pytest: hasPytest
    ? ['python3', '-m', 'pytest', '-q', '-p', 'no:cacheprovider', 'test_check.py']
    : ['python3', '-c', RUN_TESTS],
}

/** The runners that take a second to start, and the program that hangs often: explored under a few failure modes. */
const SLOW_RUNNERS = ['vitest', 'jest', 'pytest']
const FEW_MODES = ['server-error-once', 'rate-limit-once', 'timeout', 'invalid-json', 'empty-response', 'auth']

interface Planted {
  runner: keyof typeof RUNNERS
  /** Its first problem, and a failure mode that shows it. */
  kind: ProblemKind
  mode: string
  message: RegExp
}
const PROGRAMS: Record<string, Planted> = {
  // OpenAI SDK, whole: no retries.
  title: { runner: 'vitest', kind: 'failed', mode: 'server-error-once', message: /failed with exit code 1/ },
  // Anthropic SDK, whole, two calls: a failed call is ignored.
  translation: { runner: 'jest', kind: 'lost-work', mode: 'server-error-once', message: /did not retry/ },
  // OpenAI SDK, stream: a truncated stream counts as complete.
  story: { runner: 'node', kind: 'swallowed', mode: 'cut-stream', message: /did not retry/ },
  // Anthropic API through fetch, stream: no timeout.
  news: { runner: 'bun', kind: 'hung', mode: 'timeout', message: /without activity/ },
  // AI SDK, tools, three calls: a failure starts everything again.
  refund: { runner: 'node', kind: 'duplicate-side-effect', mode: 'timeout', message: /issue_refund .* 2 times/ },
  // AI SDK, structured output: a default instead of invalid JSON.
  ticket: { runner: 'vitest', kind: 'swallowed', mode: 'invalid-json', message: /did not retry/ },
  // urllib, whole: Retry-After is ignored.
  greeting: { runner: 'pytest', kind: 'misbehaved', mode: 'rate-limit-once', message: /^early-retry/ },
  // urllib, embeddings, two calls: a failed batch is left out.
  passages: { runner: 'pytest', kind: 'lost-work', mode: 'timeout', message: /did not retry/ },
  // OpenAI SDK, embeddings: a misspelled fallback.
  search: { runner: 'jest', kind: 'misbehaved', mode: 'server-error-once', message: /opnai/ },
  // OpenAI SDK, tools, two calls: arguments are not checked.
  weather: { runner: 'bun', kind: 'swallowed', mode: 'wrong-arguments', message: /did not retry/ },
  // AI SDK, stream: errors of the stream are ignored.
  poem: { runner: 'node', kind: 'lost-work', mode: 'server-error-once', message: /did not retry/ },
  // Anthropic SDK, five calls: endless retries.
  chapters: { runner: 'bun', kind: 'hung', mode: 'auth', message: /the same request \d+ times/ },
}

interface Report {
  problems: { kind: ProblemKind; severity: string; message: string; failure_modes: string[] }[]
  cases: { injection_point: string; failure_mode: string; result: string }[]
}
let explorations = 0
async function explore(name: string, manner: 'careful' | 'careless', ...args: string[]) {
  const runner = PROGRAMS[name]?.runner ?? 'node'
  const out = join(folder.path, `out-${++explorations}`)
  const command = [EXECUTABLE, 'explore', '--out', out, '--json-file', `${out}.json`, ...args, '--', ...RUNNERS[runner]]
  const child = Bun.spawn(command, {
    cwd: join(folder.path, name),
    env: environment({ PROGRAM: manner, PYTHONDONTWRITEBYTECODE: '1', HOME: folder.path }),
    ...{ stdout: 'pipe', stderr: 'pipe' },
  })
  const [said, log, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ])
  const report: Report = JSON.parse(readFileSync(`${out}.json`, 'utf8'))
  return { code, said: said + log, ...report }
}

test.each(Object.entries(PROGRAMS))(
  'explore: shows the mistake of %s first, and no problem of its careful twin',
  async (name, { runner, kind, mode, message }) => {
    const isSlow = SLOW_RUNNERS.includes(runner) || name === 'chapters'
    const args = isSlow ? FEW_MODES.flatMap((mode) => ['--failure-mode', mode]) : []
    const careless = await explore(name, 'careless', ...args)
    const [first] = careless.problems
    expect(first).toMatchObject({ kind, message: expect.stringMatching(message) })
    expect(first?.failure_modes).toContain(mode)
    expect([careless.code, careless.problems.length <= 3]).toEqual([3, true])
    const careful = await explore(name, 'careful', ...args)
    expect([careful.code, careful.problems, careful.said]).toEqual([0, [], expect.stringContaining('PASS')])
  },
)

test.each(['weather', 'story', 'poem'])('explore: reports the same problems of %s every time', async (name) => {
  const modes = ['server-error-once', 'server-error-forever', 'cut-stream', 'wrong-arguments', 'auth']
  const args = modes.flatMap((mode) => ['--failure-mode', mode])
  const resultsOf = async (...more: string[]) => {
    const { code, problems, cases } = await explore(name, 'careless', ...args, ...more)
    return { code, problems, results: cases.map((one) => [one.injection_point, one.failure_mode, one.result]) }
  }
  const [first, second, whole] = [
    await resultsOf('--jobs', '1'),
    await resultsOf('--jobs', '4'),
    await resultsOf('--no-prune'),
  ]
  expect([second.code, second.results]).toEqual([first.code, first.results])
  expect([whole.code, whole.results]).toEqual([first.code, first.results])
  // The figures of a run that was ended differ from run to run.
  const shown = ({ problems }: typeof first) =>
    problems.map(({ message, ...problem }) => ({ ...problem, message: message.replace(/\d+(?:\.\d+)?/g, '0') }))
  expect(shown(second)).toEqual(shown(first))
  expect(shown(whole)).toEqual(shown(first))
})
