// One hostile text in every place that accepts text: whatever a command prints of it, a terminal and a CI runner see text.
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type OwnProcessServer, runCommand, serveHere } from '../support/cli.ts'
import { emptyFolder } from '../support/server.ts'

// Some tests start a client several times, on a machine that may be busy.
setDefaultTimeout(60_000)
const folder = emptyFolder()
const cwd = folder.path
let server: OwnProcessServer
let hostile: Bun.Server<undefined>

/** Begins lines with commands to runners, has controls of both kinds, turns around what follows, and wears our own nine colours. */
const OURS = [1, 2, 22, 31, 32, 33, 34, 35, 36, 39].map((code) => `\u001b[${code}mFORGED`).join('')
const NASTY = `a${OURS}\u009b31m\u0085b\u202ec\rd\n::stop-commands::FORGED\n  ::error::FORGED\n##[error]FORGED\n%%FORGED\nFORGED\u001b[2J`
/** As the name of a file. */
const NAME = NASTY.replaceAll('/', '-')
/** As the id of a model, which has no white space. */
const MODEL = `openai/${NASTY.replace(/\s/g, '')}`

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const FOREIGN_COLOUR = /\x1b\[\d+mFORGED/
// biome-ignore lint/suspicious/noControlCharactersInRegex: our colours, which nothing of FORGED follows
const OUR_COLOUR = /\x1b\[(?:1|2|22|3[1-69])m/g
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const ACTED_ON = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/
const COMMAND = /^\s*(?:::|%%)|##[\w.-]*\[/m

function expectHarmless(text: string, coloured = false): void {
  expect(text).not.toMatch(FOREIGN_COLOUR)
  const plain = coloured ? text.replace(OUR_COLOUR, '') : text
  expect(plain).not.toMatch(ACTED_ON)
  expect(plain).not.toMatch(COMMAND)
  expect(plain).not.toMatch(/^FORGED/m)
}

/** A client that makes calls with the hostile text wherever a client can write one. */
const CLIENT = `
const base = process.env.OPENAI_BASE_URL
const headers = { authorization: 'Bearer x', 'content-type': 'application/json', 'user-agent': 'a\\u009b31m::error::', 'x-request-id': 'b\\u0085##[error]' }
const chat = (body) => fetch(base + '/chat/completions', { method: 'POST', headers, body: JSON.stringify({ messages: [{ role: 'user', content: ${JSON.stringify(NASTY)}, name: ${JSON.stringify(NASTY)} }], ...body }) }).then((r) => r.text()).catch(() => {})
await chat({ model: ${JSON.stringify(MODEL)} })
await chat({ model: ${JSON.stringify(MODEL)}, metadata: { [${JSON.stringify(NASTY)}]: ${JSON.stringify(NASTY)} } })
await chat({ model: 'openai/gpt-4o', user: ${JSON.stringify(NASTY)}, tools: [{ type: 'function', function: { name: 'f', description: ${JSON.stringify(NASTY)} } }] })
await fetch(base + '/none/' + encodeURIComponent(${JSON.stringify(NASTY)}), { headers }).catch(() => {})
`
const SCENARIO = {
  name: 'nasty',
  description: NASTY,
  rules: [
    { name: NASTY, fault: { type: 'http-error', status: 503, message: NASTY } },
    { name: `never ${NASTY}`, match: { model: `openai/none-${NASTY}` }, fault: { type: 'delay', for: '1ms' } },
  ],
}

beforeAll(async () => {
  writeFileSync(join(cwd, 'client.mjs'), CLIENT)
  mkdirSync(join(cwd, 'files'))
  writeFileSync(join(cwd, 'nasty.yaml'), JSON.stringify(SCENARIO))
  writeFileSync(join(cwd, `${NAME}.yaml`), JSON.stringify({ ...SCENARIO, name: 'named' }))
  const broken = { name: NASTY, match: { [NASTY]: 1 }, reply: NASTY }
  writeFileSync(join(cwd, 'files', `${NAME}.yaml`), JSON.stringify(broken))
  mkdirSync(join(cwd, 'fixtures', 'chat.completions'), { recursive: true })
  const fixture = { name: NASTY, match: { model: MODEL }, reply: { content: NASTY } }
  writeFileSync(join(cwd, 'fixtures', 'chat.completions', `${NAME}.yaml`), JSON.stringify(fixture))
  server = await serveHere(['--db', ':memory:', '--clock', 'virtual'], { cwd: tmpdir() })
  // A server that is none of ours, at an address that somebody was given.
  hostile = Bun.serve({
    port: 0,
    fetch: ({ url }) =>
      url.includes('refused')
        ? Response.json({ message: NASTY, error: { message: NASTY } }, { status: 400 })
        : Response.json({
            status: NASTY,
            instance: NASTY,
            counts: { sessions: NASTY },
            sessions: [NASTY],
            data: [],
            has_more: false,
          }),
  })
})
afterAll(async () => {
  await hostile.stop(true)
  await server.stop()
  folder.remove()
})

/** A command, with what of the hostile text it must print as escapes, so that no row is empty by mistake. */
type Row = [name: string, args: () => string[], printed?: RegExp]
const WRITTEN = ['--junit', 'report.xml', '--json-file', 'report.json']
const client = ['--', process.execPath, 'client.mjs']
const ESCAPED = /\\u001b\[31mFORGED/
const at = (path = '') => ['--url', `http://127.0.0.1:${hostile.port}${path}`]
const ROWS: Row[] = [
  ['exec', () => ['exec', '--scenario', 'nasty.yaml', ...WRITTEN, ...client], ESCAPED],
  [
    'exec of a file with the name',
    () => ['exec', '--scenario', `${NAME}.yaml`, '--fixtures', 'fixtures', ...client],
    ESCAPED,
  ],
  ['exec --json', () => ['exec', '--scenario', 'nasty.yaml', '--json', ...client], ESCAPED],
  ['exec --log json', () => ['exec', '--scenario', 'nasty.yaml', '--log', 'json', ...client]],
  ['exec of a missing command', () => ['exec', '--', NASTY], ESCAPED],
  ['explore', () => ['explore', '--failure-mode', 'auth', '--out', 'out', ...WRITTEN, ...client], ESCAPED],
  ['explore --json', () => ['explore', '--failure-mode', 'auth', '--out', 'out', '--json', ...client], ESCAPED],
  ['explore --class', () => ['explore', '--failure-mode', NASTY, ...client], ESCAPED],
  ['explore --known-failures', () => ['explore', '--known-failures', NASTY, ...client], ESCAPED],
  ['rehearse', () => ['rehearse', 'nasty.yaml'], ESCAPED],
  ['rehearse of a file with the name', () => ['rehearse', `${NAME}.yaml`], ESCAPED],
  ['rehearse --json', () => ['rehearse', 'nasty.yaml', '--json'], ESCAPED],
  ['rehearse --against', () => ['rehearse', 'nasty.yaml', '--calls', '1', '--against', server.url], ESCAPED],
  [
    'rehearse --against a hostile server',
    () => ['rehearse', 'nasty.yaml', '--against', `http://127.0.0.1:${hostile.port}/refused`],
  ],
  ['rehearse of nothing', () => ['rehearse', NASTY], ESCAPED],
  ['check', () => ['check', 'files'], ESCAPED],
  ['check of nothing', () => ['check', NASTY], ESCAPED],
  ['check --config', () => ['check', 'files', '--config', NASTY], ESCAPED],
  ['fixture list', () => ['fixture', 'list', 'fixtures'], ESCAPED],
  ['fixture list --json', () => ['fixture', 'list', 'fixtures', '--json'], ESCAPED],
  ['fixture list of broken files', () => ['fixture', 'list', 'files'], ESCAPED],
  ['scenario show', () => ['scenario', 'show', NASTY], ESCAPED],
  ['serve of broken files', () => ['serve', '--port', '0', '--fixtures', 'files'], ESCAPED],
  ['serve with a scenario of that name', () => ['serve', '--port', '0', '--scenario', `none-${NASTY}.yaml`], ESCAPED],
  ['serve with a seed of that name', () => ['serve', '--port', '0', '--seed-file', NASTY]],
  ['serve with a database in no folder', () => ['serve', '--port', '0', '--db', `none/${NASTY}`], ESCAPED],
  ['health of a hostile server', () => ['health', ...at()], ESCAPED],
  ['health of a server that returns errors', () => ['health', ...at('/refused')], /.+/],
  ['reset of a hostile server', () => ['reset', ...at()], ESCAPED],
  ['reset of a server that returns errors', () => ['reset', ...at('/refused')], ESCAPED],
  ['trace list of a server that returns errors', () => ['trace', 'list', ...at('/refused')], ESCAPED],
  ['snapshot load', () => ['snapshot', 'load', NASTY, ...at()], ESCAPED],
  ['snapshot save', () => ['snapshot', 'save', `none/${NASTY}`, ...at()], ESCAPED],
  ['seed', () => ['seed', NASTY, ...at()], ESCAPED],
  ['help', () => ['help', NASTY], ESCAPED],
]
// JSON has no colors.
for (const [name, args, printed] of ROWS)
  for (const env of (/ json|--json/.test(name) ? [{}] : [{}, { FORCE_COLOR: '1' }]) as Record<string, string>[])
    test(`hostile name, ${name}: is printed and written as text${env.FORCE_COLOR ? ', with colors' : ''}`, async () => {
      const [command] = args()
      const { stdout, stderr } = await runCommand(args(), { cwd, env })
      expectHarmless(stdout, env.FORCE_COLOR !== undefined)
      expectHarmless(stderr, env.FORCE_COLOR !== undefined)
      if (printed) expect(stdout + stderr).toMatch(printed)
      if (!args().includes('--junit')) return
      const written = ['report.xml', 'report.json'].map((file) => readFileSync(join(cwd, file), 'utf8'))
      for (const text of written) expectHarmless(text)
      // JUnit of an exploration names no model.
      expect(written.map((text) => text.includes('FORGED'))).toEqual([command === 'exec', true])
    })

test('hostile settings: are an error of one line, from the environment and from a file', async () => {
  writeFileSync(join(cwd, 'nasty-settings.yaml'), JSON.stringify({ [NASTY]: NASTY }))
  writeFileSync(join(cwd, 'nasty-values.yaml'), JSON.stringify({ clock: NASTY, scenario: NASTY }))
  for (const [args, env] of [
    [['--config', 'nasty-settings.yaml'], {}],
    [['--config', 'nasty-values.yaml'], {}],
    [[], { UNDERSTUDY_CLOCK: NASTY }],
    [[], { UNDERSTUDY_SCENARIO: NASTY }],
    [['--clock', NASTY], {}],
    [[`--${NASTY}`], {}],
  ] as [string[], Record<string, string>][]) {
    const { code, stdout, stderr } = await runCommand(['serve', '--port', '0', ...args], { cwd, env })
    expect(code).toBe(2)
    expectHarmless(stdout + stderr)
    expect(stderr.trimEnd().split('\n')).toHaveLength(1)
  }
})

test('hostile file name: is printed on one line, on the terminal and in the log', async () => {
  for (const args of [
    ['check', 'files'],
    ['fixture', 'list', 'files'],
    ['serve', '--port', '0', '--fixtures', 'files'],
  ]) {
    const { code, stderr } = await runCommand(args, { cwd })
    expect(code).toBe(2)
    expect(stderr).toContain('\\n::stop-commands::FORGED')
    for (const line of stderr.trimEnd().split('\n')) expect(line).toStartWith(`understudy: files/${'a\\u001b'}`)
  }
})
