// The example tests in vitest, bun test, Playwright and pytest, each run as its readers run it.
import { expect, test } from 'bun:test'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { chromiumPath } from '../support/browser.ts'
import { createLimit } from '../support/limit.ts'
import { makeProject } from '../support/packages.ts'
import { HAS_PYTEST, PYTEST_ENV, PYTHON } from '../support/python.ts'
import { EXECUTABLE, emptyFolder } from '../support/server.ts'

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
def fixture_of(name):
    request = types.SimpleNamespace(node=types.SimpleNamespace(nodeid=f'test_greeter.py::{name}'))
    return conftest.understudy(request)
tests = [(name, value) for name, value in vars(test_greeter).items() if name.startswith('test_')]
for name, one in tests:
    fixture = fixture_of(name)
    one(next(fixture))
    assert next(fixture, 'ended') == 'ended'
fixture = next(fixture_of(name))
assert fixture.api_key.endswith('.2'), fixture.api_key
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
      const start = async (args: string[], ...command: string[]) => {
        const child = Bun.spawn([EXECUTABLE, ...args, '--', PYTHON, '-B', ...command], {
          cwd,
          env: { PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? '', ...PYTEST_ENV },
          stdout: 'pipe',
          stderr: 'pipe',
        })
        const said = await Promise.all([child.stdout, child.stderr].map((stream) => new Response(stream).text()))
        return [await child.exited, said.join('\n')]
      }
      expect(await start(['exec'], '-c', WITHOUT_PYTEST)).toEqual([0, expect.stringContaining('2 passed')])
      if (!HAS_PYTEST) return
      const pytest = ['-m', 'pytest', '-q', '-p', 'no:cacheprovider']
      expect(await start(['exec'], ...pytest)).toEqual([0, expect.stringContaining('2 passed')])
      const message = { role: 'assistant', content: 'Good day, Ada!' }
      const choices = [{ index: 0, message, finish_reason: 'stop' }]
      const completion = { id: 'chatcmpl-1', object: 'chat.completion', created: 1, model: 'gpt-4o', choices }
      await using provider = Bun.serve({
        port: 0,
        fetch: () => Response.json(completion),
      })
      const folder = emptyFolder()
      const config = join(folder.path, 'understudy.yaml')
      writeFileSync(config, `providers: { openai: { base_url: '${provider.url}v1', api_key: a-long-key } }`)
      const cassettes = join(folder.path, 'cassettes')
      const recorded = await start(['record', '--config', config, '--out', cassettes], ...pytest)
      expect(recorded).toEqual([0, expect.stringContaining('2 passed')])
      expect(await start(['exec', '--replay', cassettes], ...pytest)).toEqual([0, expect.stringContaining('no misses')])
      folder.remove()
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
