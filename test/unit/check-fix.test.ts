// understudy check --fix: former names of keys and values, rewritten in place.
import { afterAll, expect, test } from 'bun:test'
import { chmodSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { runCommand } from '../support/cli.ts'
import { folderWith } from '../support/fixtures.ts'

const SCENARIO = `# Kept: every comment.
name: old
rules:
  - name: "down"   # kept, too
    match: { inner: false, point: 'a*' }
    fault: { type: refuse }
expect:
  - { provider: openai, outcome: 'timed out', attempts: 1+ }
  - { outcome: answered, calls: 0 }
  - { waits_kept: true }
accept: [storm, "not-tried"]
`
const NEW_SCENARIO = `# Kept: every comment.
name: old
rules:
  - name: "down"   # kept, too
    match: { internal: false, call_site: 'a*' }
    fault: { type: connection-refused }
expect:
  - { provider: openai, outcome: 'timed_out', attempts: 1+ }
  - { outcome: succeeded, calls: 0 }
  - { retry_after_honored: true }
accept: [retry-storm, "not-exercised"]
`
const FIXTURE = '{ "match": { "answer": "json" }, "reply": { "content": "{\\"answer\\":1}" } }\n'
const KNOWN = 'accepted:\n  - { point: "*", class: bad-json, verdict: broke, why: it was refused }\n'
const SETTINGS = 'keep_answer_bytes: 64MiB\ntools: asked\n'
const folder = folderWith({
  'scenarios/old.yaml': SCENARIO,
  'fixtures/chat.completions/old.json': FIXTURE,
  'explore.yaml': KNOWN,
  'understudy.yaml': SETTINGS,
  'wrong/scenarios/broken.yaml': 'rules: [',
  'wrong/scenarios/odd.yaml': `${SCENARIO}colour: red\n`,
})
afterAll(folder.remove)
const textOf = (file: string) => readFileSync(join(folder.path, file), 'utf8')
const check = (...args: string[]) => runCommand(['check', ...args], { cwd: folder.path })

test('check: names the present name of a former key at its line', async () => {
  const { code, stderr } = await check('scenarios', '--config', 'explore.yaml')
  expect(code).toBe(2)
  expect(stderr).not.toBe('')
  const { stderr: settings } = await check('scenarios')
  expect(settings).toContain(
    "understudy.yaml:1: keep_answer_bytes is not a setting (did you mean 'keep_response_bytes'?)",
  )
})

test('check --fix: rewrites former names and nothing else', async () => {
  const fixed = await check('--fix')
  expect(fixed.stderr).toBe('')
  expect(fixed.code).toBe(0)
  expect(textOf('scenarios/old.yaml')).toBe(NEW_SCENARIO)
  expect(textOf('fixtures/chat.completions/old.json')).toBe(FIXTURE.replace('"answer":', '"output":'))
  expect(textOf('explore.yaml')).toBe(
    'accepted:\n  - { injection_point: "*", failure_mode: invalid-json, result: failed, reason: it was refused }\n',
  )
  expect(textOf('understudy.yaml')).toBe('keep_response_bytes: 64MiB\ntools: requested\n')
  const again = await check('--fix')
  expect(again.stdout).not.toContain('replaced')
})

test('check --fix: fixes what it can and reports the rest', async () => {
  chmodSync(join(folder.path, 'wrong/scenarios/odd.yaml'), 0o644)
  const { code, stdout, stderr } = await check('--fix', 'wrong/scenarios')
  expect(statSync(join(folder.path, 'wrong/scenarios/odd.yaml')).mode & 0o777).toBe(0o644)
  expect(stderr).toContain('wrong/scenarios/broken.yaml:1:')
  expect(code).toBe(2)
  expect(stdout).toContain('wrong/scenarios/odd.yaml: 8 names replaced')
  expect(stderr).toContain('wrong/scenarios/odd.yaml:12:1: colour is not known')
})

test.each([
  [
    ['serve', '--keep-answer-bytes', '1MiB'],
    {},
    "unknown option '--keep-answer-bytes' (did you mean '--keep-response-bytes'?); valid: --port",
  ],
  [['explore', '--class=auth'], {}, "(did you mean '--failure-mode'?); valid: --failure-mode"],
  [['explore', '--baseline', 'x'], {}, "(did you mean '--known-failures'?)"],
  [['serve', '--prot', '1'], {}, "(did you mean '--port'?)"],
  [
    ['serve'],
    { UNDERSTUDY_KEEP_ANSWER_BYTES: '1MiB' },
    "UNDERSTUDY_KEEP_ANSWER_BYTES is not a setting (did you mean 'UNDERSTUDY_KEEP_RESPONSE_BYTES'?)",
  ],
] as const)('former flag or variable, %j %j: is an error that names the present one', async (args, env, message) => {
  const { code, stderr } = await runCommand([...args], { env })
  expect(stderr).toContain(message)
  expect(code).toBe(2)
})
