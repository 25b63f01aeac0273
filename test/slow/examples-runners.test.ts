// The example tests in vitest, bun test, Playwright and pytest, each run as its readers run it.
import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { chromiumPath } from '../support/browser.ts'
import { createLimit } from '../support/limit.ts'
import { makeProject } from '../support/packages.ts'
import { HAS_PYTEST, PYTEST_ENV, PYTHON } from '../support/python.ts'
import { EXECUTABLE } from '../support/server.ts'

const root = join(import.meta.dir, '..', '..')
/** Two at a time: each waits for processes of its own. */
const limited = createLimit(2)

test.concurrent(
  'vitest example: passes',
  () =>
    limited(async () => {
      const project = await makeProject('vitest', ['vitest', 'vite', 'openai', '@anthropic-ai/sdk'])
      const { code, said } = await project.run([
        'node',
        'node_modules/vitest/vitest.mjs',
        'run',
        '--no-color',
        '--testTimeout=30000',
      ])
      expect([code, said]).toEqual([0, expect.stringMatching(/Tests +4 passed/)])
    }),
  120_000,
)

test.concurrent(
  'bun test example: passes',
  () =>
    limited(async () => {
      const project = await makeProject('bun-test', ['openai'])
      const { code, said } = await project.run([process.execPath, 'test', '--timeout', '30000'])
      expect([code, said]).toEqual([0, expect.stringContaining(' 3 pass')])
      // The same tests under a scenario: the verdict is on the sessions that the tests had.
      const bad = await project.run([
        ...[EXECUTABLE, 'exec', '--scenario', 'rate-limit-burst', '--json'],
        ...['--', process.execPath, 'test', '--timeout', '30000', '-t', 'comes in pieces'],
      ])
      expect([bad.code, bad.said]).toEqual([0, expect.stringContaining(' 1 pass')])
      const [run] = JSON.parse(bad.said.split('\n').find((line) => line.startsWith('{"format_version"')) ?? '').runs
      const session = {
        session: expect.stringMatching(/^story\.test\.ts\/a-story-comes-in-pieces-/),
        ok: true,
        attempts: 3,
      }
      expect(run.sessions).toEqual([expect.objectContaining(session)])
    }),
  120_000,
)

test.concurrent(
  'Playwright example: passes',
  () =>
    limited(async () => {
      const project = await makeProject('playwright', ['@playwright/test', 'playwright', 'playwright-core'])
      const command = ['node', 'node_modules/@playwright/test/cli.js', 'test']
      const { code, said } = await project.run(command, { CHROMIUM: chromiumPath() })
      expect([code, said]).toEqual([0, expect.stringContaining('2 passed')])
    }),
  120_000,
)

// Where there is no pytest, its part is played: a fixture is a function whose value the test is given.
const WITHOUT_PYTEST = `
import sys, types
sys.modules['pytest'] = types.SimpleNamespace(fixture=lambda function: function)
import conftest, test_greeter
tests = [value for name, value in vars(test_greeter).items() if name.startswith('test_')]
for one in tests:
    fixture = conftest.understudy()
    one(next(fixture))
    assert next(fixture, 'ended') == 'ended'
fixture = next(conftest.understudy())
try: fixture.control('PUT', 'fixtures', {'match': {'operation': 'chat.completions'}, 'reply': {'contents': ''}})
except AssertionError as error: assert 'contents' in str(error), error
else: raise AssertionError('a broken fixture was taken')
print(len(tests), 'passed')
`
test.concurrent(
  'pytest example: passes',
  () =>
    limited(async () => {
      const cwd = join(root, 'examples', 'pytest')
      const run = async (...command: string[]) => {
        const child = Bun.spawn([EXECUTABLE, 'exec', '--', PYTHON, '-B', ...command], {
          cwd,
          env: { PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? '', ...PYTEST_ENV },
          stdout: 'pipe',
          stderr: 'pipe',
        })
        const said = await Promise.all([child.stdout, child.stderr].map((stream) => new Response(stream).text()))
        return { code: await child.exited, said: said.join('\n') }
      }
      const without = await run('-c', WITHOUT_PYTEST)
      expect([without.code, without.said]).toEqual([0, expect.stringContaining('2 passed')])
      if (!HAS_PYTEST) return
      const { code, said } = await run('-m', 'pytest', '-q', '-p', 'no:cacheprovider')
      expect([code, said]).toEqual([0, expect.stringContaining('2 passed')])
    }),
  120_000,
)

// Their explorations are in test/api/examples-explore.test.ts.
const NODE = ['node', '--test']
test.concurrent.each([
  ['ticket-tool', [join(root, 'tools', 'node_modules', '.bin', 'vitest'), 'run']],
  ['summarizer', NODE],
  ['parcel-agent', NODE],
])(
  'test of example %s: passes without a fault',
  (name, command) =>
    limited(async () => {
      const child = Bun.spawn([EXECUTABLE, 'exec', '--json', '--', ...command], {
        cwd: join(root, 'examples', name),
        env: { PATH: process.env.PATH ?? '' },
        stdout: 'pipe',
        stderr: 'ignore',
      })
      const { runs } = JSON.parse((await new Response(child.stdout).text()).trim().split('\n').at(-1) ?? '')
      expect([await child.exited, runs]).toEqual([0, [expect.objectContaining({ code: 0, findings: [] })]])
      expect(runs[0].sessions[0].calls).toBeGreaterThan(0)
    }),
  120_000,
)

test('docs/testing.md: quotes the examples as they are', () => {
  const page = readFileSync(join(root, 'docs', 'testing.md'), 'utf8')
  const shown = [...page.matchAll(/^(?:.* )?From `(examples\/[^`]+)`:\n\n```\w+\n([\s\S]*?)```$/gm)]
  expect(shown.map(([, file]) => file)).toEqual([
    'examples/vitest/support.test.ts',
    'examples/bun-test/story.test.ts',
    'examples/pytest/conftest.py',
  ])
  for (const [, file = '', text = ''] of shown) expect(readFileSync(join(root, file), 'utf8')).toContain(text)
})
