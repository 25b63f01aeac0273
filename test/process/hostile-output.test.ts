// Foreign text is printed as text: no terminal and no CI runner acts on it, and it forges no line.
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { execSummary, exploreSummary } from '../../packages/action/src/verdict.ts'
import { runCommand } from '../support/cli.ts'
import { emptyFolder, exchange, type OwnServer, run, startServer } from '../support/server.ts'

// Each test starts the executable, on a machine that may be busy.
setDefaultTimeout(30_000)
const folder = emptyFolder()
const cwd = folder.path
let server: OwnServer
afterAll(async () => {
  await server.stop()
  folder.remove()
})

/** A name that colours, erases, turns around, hides, begins lines and gives commands to every runner. */
const NASTY = [
  'gpt\u001b[31mred\u001b[2J\u001b]0;title\u0007\u009b31m\u007f\u202eevil\u2066\u200f\u061c\u200bwide\u2028line\ufeff\r',
  '::stop-commands::FORGED',
  '  ::error::FORGED',
  '##[error]FORGED',
  '##vso[task.setvariable variable=FORGED]x',
  "##teamcity[buildStatus text='FORGED']",
  '%%FORGED',
  'FORGED Understudy: PASS',
].join('\n')
/** The id of a model has no white space. */
const MODEL = `openai/${NASTY.replace(/\s/g, '')}`
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const ACTED_ON = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/
const COMMAND = /^\s*(?:::|%%)|##[\w.-]*\[/m
const FORGED = /^FORGED/m

function expectHarmless(text: string): void {
  expect(text).not.toMatch(ACTED_ON)
  expect(text).not.toMatch(COMMAND)
  expect(text).not.toMatch(FORGED)
}

const chat = (model: string, content = 'Hello!') => ({ model, messages: [{ role: 'user', content }] })
async function call(body: object, headers: Record<string, string> = {}): Promise<string> {
  const response = await fetch(`${server.url}/v2/router/chat/completions`, {
    method: 'POST',
    headers: { authorization: 'Bearer any', 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })
  await response.text()
  return response.headers.get('x-understudy-trace') ?? ''
}
const ids: string[] = []
beforeAll(async () => {
  server = await startServer(['--db', 'calls.db', '--verbose'], { cwd })
  ids.push(await call(chat(MODEL)), await call(chat('openai/gpt-4o', NASTY)))
  ids.push(await call({ ...chat('openai/gpt-4o', NASTY), thread: { id: NASTY }, fallbacks: [{ model: MODEL }] }))
})

test('hostile text in trace list and show: is printed as text', async () => {
  for (const env of [{}, { FORCE_COLOR: '1' }] as Record<string, string>[]) {
    const listed = await run(['trace', 'list', '--url', server.url], { cwd, env })
    expect(listed.code).toBe(0)
    expect(listed.stdout.trimEnd().split('\n')).toHaveLength(ids.length)
    expect(listed.stdout).toContain('gpt\\u001b[31mred\\u001b[2J')
    const shown = []
    for (const id of ids) shown.push(await runCommand(['trace', 'show', id, '--url', server.url], { cwd, env }))
    for (const { code, stdout, stderr } of [listed, ...shown]) {
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
      // Colours of ours may be there when they are asked for; no others.
      // biome-ignore lint/suspicious/noControlCharactersInRegex: the colours of ours
      expectHarmless(env.FORCE_COLOR ? stdout.replace(/\x1b\[(?:1|2|22|3[1-69])m/g, '') : stdout)
      expect(stdout).not.toContain('\u001b[31mred')
    }
  }
})

test('hostile text with --json: is escaped and otherwise unchanged', async () => {
  const { stdout } = await runCommand(['trace', 'list', '--json', '--url', server.url], { cwd })
  expectHarmless(stdout)
  const models = stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line).model)
  expect(models).toContain(MODEL)
  const shown = await runCommand(['trace', 'show', ids[1] ?? '', '--json', '--url', server.url], { cwd })
  expectHarmless(shown.stdout)
  expect(JSON.parse(shown.stdout).request.messages[0].content).toBe(NASTY)
})

test('hostile text in an error: stays on one line when typed text is quoted', async () => {
  for (const args of [
    ['trace', 'show', NASTY, '--url', server.url],
    ['trace', 'list', '--model', NASTY, '--status', NASTY, '--url', server.url],
    ['trace', 'list', '--db', `${NASTY.replaceAll('\n', '\r')}.db`],
    ['scenario', 'show', NASTY],
    ['scenario', 'list', NASTY],
    ['snapshot', 'diff', NASTY, '--url', server.url],
    ['exec', '--scenario', NASTY, '--', 'true'],
    ['exec', '--', `/none/${NASTY}`],
    ['health', '--url', `http://127.0.0.1:9/${NASTY}`],
    [NASTY],
  ]) {
    const { code, stdout, stderr } = await runCommand(args, { cwd })
    expect(code).not.toBe(0)
    expectHarmless(stdout + stderr)
    expect(stderr.trimEnd().split('\n')).toHaveLength(1)
    expect(stderr).toStartWith('understudy: ')
  }
})

test('hostile text in check: is printed as text for file names and contents', async () => {
  const files = emptyFolder()
  writeFileSync(
    join(files.path, `${NASTY.replaceAll('/', '-').slice(0, 120)}.yaml`),
    `? ${JSON.stringify(NASTY)}\n: 1\n`,
  )
  writeFileSync(
    join(files.path, 'other.yaml'),
    `name: ${JSON.stringify(NASTY)}\nrules:\n  - ${JSON.stringify(NASTY)}: 1\n    fault: { type: ${JSON.stringify(NASTY)} }\n`,
  )
  const { code, stdout, stderr } = await runCommand(['check', files.path], { cwd })
  files.remove()
  expect(code).toBe(2)
  expect(stderr).toContain('other.yaml')
  expectHarmless(stdout + stderr)
  expect(
    stderr
      .trimEnd()
      .split('\n')
      .every((line) => line.startsWith('understudy: ')),
  ).toBe(true)
})

test("hostile text in exec: is harmless in report, JSON and JUnit, and the command's output is unchanged", async () => {
  const scenario = {
    name: 'nasty',
    rules: [
      { name: NASTY, fault: { type: 'http-error', status: 503, message: NASTY } },
      { name: `other ${NASTY}`, match: { model: 'openai/none' }, fault: { type: 'delay', for: '1ms' } },
    ],
  }
  writeFileSync(join(cwd, 'nasty.yaml'), JSON.stringify(scenario))
  const program = `console.log('::group::mine \\u001b[1m'); await fetch(process.env.OPENAI_BASE_URL + '/chat/completions', { method: 'POST', headers: { authorization: 'Bearer x', 'content-type': 'application/json' }, body: ${JSON.stringify(JSON.stringify(chat(MODEL, NASTY)))} })`
  writeFileSync(join(cwd, 'client.mjs'), program)
  const command = ['--', process.execPath, 'client.mjs']
  const flags = ['--scenario', 'nasty.yaml', '--junit', 'report.xml', '--json-file', 'report.json']
  const { stdout, stderr } = await run(['exec', ...flags, ...command], { cwd })
  expect(stdout).toStartWith('::group::mine \u001b[1m\n')
  const own = stdout.slice(stdout.indexOf('\n'))
  expect(own).toContain('Understudy: ')
  expect(own).toContain('\\n::stop-commands::FORGED')
  expectHarmless(own + stderr)
  const xml = readFileSync(join(cwd, 'report.xml'), 'utf8')
  expectHarmless(xml)
  expect(xml).toContain('\\u202eevil')
  const json = readFileSync(join(cwd, 'report.json'), 'utf8')
  expectHarmless(json)
  const { rules } = JSON.parse(json).runs[0].sessions[0]
  expect(rules.map(({ name }: { name: string }) => name)).toEqual([NASTY, `other ${NASTY}`])
})

test('hostile text in serve: is printed as text for unknown paths and calls', async () => {
  const target = new URL(server.url)
  const head = `host: ${target.host}\r\nconnection: close`
  await exchange(server.url, `GET /none/\u202e::stop\u009b31m HTTP/1.1\r\n${head}\r\n\r\n`, '\0')
  await server.stop()
  const stderr = await server.stderr
  expect(stderr).toContain('GET /none/')
  expectHarmless(stderr)
})

test("hostile text in the action's summary: is Markdown text on one line", () => {
  const name = '| `a` <b> [x](http://y.z) ![i](http://y.z) \\| $m$ **b** www.y.z @who\n# FORGED'
  const shown =
    '\\| \\`a\\` \\<b\\> \\[x\\](http\\://y.z) !\\[i\\](http\\://y.z) \\\\\\| \\$m\\$ \\*\\*b\\*\\* www\\.y.z \\@who \\# FORGED'
  const finding = { kind: 'swallowed', severity: 'error', accepted: false, message: name }
  const session = {
    session: name,
    calls: 1,
    attempts: 1,
    expectations: [{ expected: name, actual: name, met: false }],
    findings: [finding],
  }
  const exec = execSummary(NASTY, [
    {
      name,
      code: 0,
      verdict: 'inconclusive',
      inconclusive: [name],
      findings: [finding],
      sessions: [session],
      strict: true,
      cassettes: {
        sessions: [
          {
            session: name,
            recorded: { problem: name },
            replayed: {
              misses: [{ operation: 'responses', model: name, message: name }],
              unused: [{ line: 7, operation: 'responses', model: name }],
            },
          },
        ],
      },
    },
  ])
  expect(exec).toContain(`| ${shown} | ❔ INCONCLUSIVE: ${shown} | 1 | 1 | 1 |`)
  expect(exec).toContain(`- in ${shown}: expected ${shown}; actual: ${shown}`)
  expect(exec).toContain(`- error in ${shown}: swallowed: ${shown}`)
  expect(exec).toContain(`- cassette of ${shown}: ${shown}`)
  expect(exec).toContain(`- cassette of ${shown}: miss: responses ${shown}: ${shown}`)
  expect(exec).toContain(`- cassette of ${shown}: unused: responses ${shown} at line 7`)
  expectHarmless(exec)
  const cell = {
    injection_point: name,
    failure_mode: name,
    result: 'lost',
    reason: name,
    scenario: null,
    derived: false,
  }
  const explored = exploreSummary(NASTY, {
    ...{ verdict: 'inconclusive', inconclusive: [name] },
    problems: [{ kind: name, severity: 'error', message: name, calls: [name], failure_modes: [name], command: name }],
    injection_points: [{ id: name, label: name }],
    cases: [cell],
  })
  expect(explored).toContain(`| ${shown} | ❌ lost |`)
  expect(explored).toContain(`- p1: ${shown} (${shown})`)
  expect(explored).toContain(`- ❌ ${shown}, ${shown}, under ${shown}: ${shown} `)
  expectHarmless(explored)
})
