// YAML in a request: text that is too large, too deep, circular or repetitive is a 400 with its line.
import { afterAll, expect, test } from 'bun:test'
import { testApps } from '../support/app.ts'
import { runCommand } from '../support/cli.ts'
import { folderWith } from '../support/fixtures.ts'

const { appWith, close } = testApps()
const app = appWith()
afterAll(close)

const BUSY = 'name: busy\nrules:\n  - name: often\n    fault: { type: http-error, status: 429 }\n'
const WIDE = `[${'x,'.repeat(99)}x]`
const LAUGHS = `a0: &a0 [x]\n${Array.from({ length: 9 }, (_, n) => `a${n + 1}: &a${n + 1} [*a${n}, *a${n}, *a${n}]`).join('\n')}`

const HOSTILE: [string, string, RegExp][] = [
  ['a list that contains itself', 'rules: &r [*r]', /alias inside of what it stands for/],
  ['a mapping that contains itself', 'name: &n\n  deep: { x: [*n] }', /alias inside of what it stands for/],
  ['a text that contains itself', '&all\nname: *all', /alias inside of what it stands for/],
  ['aliases of aliases', LAUGHS, /alias/i],
  ['a large value many times', `a: &a ${WIDE}\nb: &b ${WIDE.replaceAll('x', '*a')}\nc: [*b, *b, *b]`, /alias/i],
  ['very many aliases', `a: &a 1\nb: [${'*a,'.repeat(2_000)}]`, /more than 1000 aliases/],
  ['an alias without an anchor', 'name: *other', /Unresolved alias \*other/],
  ['an alias before its anchor', 'name: *other\nx: &other 1', /Unresolved alias \*other/],
  ['a duplicate key', `${BUSY}name: quiet\n`, /'name' is there twice/],
  ['a duplicate key, spelled differently', `${BUSY}"name": quiet\n`, /'name' is there twice/],
  ['a duplicate key in braces', 'rules: [{ name: x, name: y }]', /'name' is there twice/],
  ['a merge key', 'a: &a { x: 1 }\nb: { <<: *a }', /merge keys \(<<\) are not supported/],
  ['a mapping as a key', '? { a: b }\n: 1', /key must be a text/],
  ['nested keys', '? '.repeat(300), /key must be a text/],
  ['a list as a key', '? [a]\n: 1', /key must be a text/],
  ['unclosed brackets', '['.repeat(5_000), /500 levels/],
  ['nested lists', `name: ${'['.repeat(900)}${']'.repeat(900)}`, /500 levels/],
  ['nested dashes', '- '.repeat(9_000), /500 levels/],
  ['nested braces', `${'{a: '.repeat(700)}1${'}'.repeat(700)}`, /500 levels/],
  ['a text of 300,000 characters', `# ${'x'.repeat(300_000)}\n${BUSY}`, /longer than 256000 characters/],
  ['many keys', Array.from({ length: 20_000 }, (_, n) => `k${n}: v`).join('\n'), /more than 20000 words/],
  ['many comments', '#\n'.repeat(30_000), /more than 20000 words/],
  ['bytes in base64', 'name: !!binary "aGVsbG8="', /tag/i],
  ['a set', 'name: !!set { a, b }', /tag/i],
  ['a time', 'name: !!timestamp 2026-01-01', /tag/i],
  ["a program's own tag", 'name: !!js/function "x"', /tag/i],
  ['two documents', `${BUSY}---\n${BUSY}`, /multiple documents/],
  [
    'a thousand and one rules',
    `${BUSY}${Array.from({ length: 1_000 }, (_, n) => `  - {name: r${n}}\n`).join('')}`,
    /1000/,
  ],
]

test.each([
  ['many keys', Array.from({ length: 20_000 }, (_, n) => `k${n}: v`).join('\n'), 2_858],
  ['many comments', '#\n'.repeat(30_000), 10_001],
  ['many aliases', `a: &a 1\nb:\n${'- *a\n'.repeat(2_000)}`, 1_003],
  ['too many characters', 'x'.repeat(300_000), 1],
])('hostile YAML, %s: is reported at its line', async (_, text, line) => {
  const { problems } = (await app.post('/_understudy/scenario/check', { text })).json() as { problems: unknown[] }
  expect(problems).toMatchObject([{ line }])
})

test.each(HOSTILE)('hostile YAML, %s: is rejected as an error of the text', async (_, text, message) => {
  const checked = await app.post('/_understudy/scenario/check', { text })
  expect(checked.status).toBe(200)
  const { valid, problems } = checked.json() as { valid: boolean; problems: { line: number; message: string }[] }
  expect(valid).toBeFalse()
  expect(problems.map((problem) => problem.message).join('\n')).toMatch(message)
  const begun = await app.post('/_understudy/sessions', { name: 'rejected', scenario: { text } })
  expect(begun.status).toBe(400)
  const put = { method: 'PUT', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ text }) }
  const played = await app.fetch('/_understudy/scenario', put)
  expect(played.status).toBe(400)
  expect(played.json()).toMatchObject({ error: { param: 'text', message: expect.stringMatching(message) } })
})

test('YAML anchor: shares a fault between rules', async () => {
  const text = `${BUSY.replace('fault: {', 'fault: &busy {')}  - name: again\n    fault: *busy\n`
  expect((await app.post('/_understudy/scenario/check', { text })).json()).toMatchObject({ valid: true })
})

test('scenario in JSON: is rejected with too many rules', async () => {
  const rules = Array.from({ length: 30_000 }, () => ({ name: 'same', fault: { type: 'reset' } }))
  const begun = await app.post('/_understudy/sessions', { name: 'many', scenario: { name: 'many', rules } })
  expect(begun.status).toBe(400)
  expect(begun.text).toContain('1000')
})

const FILES: [string, string, RegExp][] = [
  ['a cycle', '&all\nmatch: { body: { x: *all } }\nreply: { content: x }', /cycle\.yaml:1:1: .*alias inside/],
  ['nested keys', '? '.repeat(300), /1:\d+: a key must be a text/],
  ['too many levels', `reply: ${'['.repeat(900)}${']'.repeat(900)}`, /1:\d+: .*500 levels/],
]
test.each(FILES)('hostile YAML file with %s: is named with its line', async (_, text, message) => {
  const folder = folderWith({ 'fixtures/chat.completions/cycle.yaml': text })
  try {
    const ended = await runCommand(['check', 'fixtures'], { cwd: folder.path })
    expect(`${ended.stdout}${ended.stderr}`).toMatch(message)
    expect(ended.code).toBeGreaterThan(0)
  } finally {
    folder.remove()
  }
})
test('settings with a cycle: are reported with their file', async () => {
  const folder = folderWith({ 'understudy.yaml': 'providers: &p { x: *p }' })
  try {
    const ended = await runCommand(['serve', '--port', '0'], { cwd: folder.path })
    expect(ended).toMatchObject({ code: 2, stdout: '' })
    expect(ended.stderr).toMatch(/understudy\.yaml:1: .*alias inside/)
  } finally {
    folder.remove()
  }
})
