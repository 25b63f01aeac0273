// Every setting can be given as a flag, a variable and a key of understudy.yaml, in that order of precedence.
import { afterAll, expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Config, flagOf, isFileOnly, isList, readConfig, SETTINGS } from '../../src/config.ts'
import { runCommand } from '../support/cli.ts'
import { emptyFolder } from '../support/server.ts'

const folder = emptyFolder()
afterAll(folder.remove)
const file = join(folder.path, 'settings.yaml')
const withFile = (yaml: string) => {
  writeFileSync(file, yaml)
  return { UNDERSTUDY_CONFIG: file }
}

type Key = keyof typeof SETTINGS
/** What is written in each place (YAML, variable, flag), and what each means. */
const samples: { [K in Key]: [[string, Config[K]], [string, Config[K]], [string | string[] | true, Config[K]]] } = {
  record: [
    ['a', 'a'],
    ['b', 'b'],
    ['c', 'c'],
  ],
  replay: [
    ['a', 'a'],
    ['b', 'b'],
    ['c', 'c'],
  ],
  on_miss: [
    ['error', 'error'],
    ['forward', 'forward'],
    ['record', 'record'],
  ],
  speed: [
    ['real', 'real'],
    ['10', 10],
    ['instant', 'instant'],
  ],
  allow: [
    ['[sampling]', ['sampling']],
    ['sampling,prefix', ['sampling', 'prefix']],
    [['prefix'], ['prefix']],
  ],
  max_recorded: [
    ['1KiB', 1024],
    ['2', 2],
    ['1MiB', 2 ** 20],
  ],
  volatile: [
    ['[{ name: run, path: metadata.run }]', [{ name: 'run', path: 'metadata.run' }]],
    ['', []],
    ['', []],
  ],
  redact: [
    ["['messages[*].name']", ['messages[*].name']],
    ['', []],
    ['', []],
  ],
  redact_names: [
    ['true', true],
    ['false', false],
    [true, true],
  ],
  otlp: [
    ['env', 'env'],
    ['http://localhost:4318', 'http://localhost:4318'],
    ['https://collector.example/v1/traces', 'https://collector.example/v1/traces'],
  ],
  log: [
    ['json', 'json'],
    ['json', 'json'],
    ['json', 'json'],
  ],
  otlp_content: [
    ['true', true],
    ['false', false],
    [true, true],
  ],
  history: [
    ['strict', 'strict'],
    ['lenient', 'lenient'],
    ['off', 'off'],
  ],
  port: [
    ['1', 1],
    ['2', 2],
    ['3', 3],
  ],
  host: [
    ['a.example', 'a.example'],
    ['::1', '::1'],
    ['127.0.0.1', '127.0.0.1'],
  ],
  instance: [
    ['a', 'a'],
    ['127.0.0.1:8633', '127.0.0.1:8633'],
    ['c-0.local', 'c-0.local'],
  ],
  instance_strict: [
    ['true', true],
    ['1', true],
    [true, true],
  ],
  drain_timeout: [
    ['1s', 1_000],
    ['2s', 2_000],
    ['3s', 3_000],
  ],
  db: [
    ['a.db', 'a.db'],
    [':memory:', ':memory:'],
    ['c.db', 'c.db'],
  ],
  shipped_fixtures: [
    ['true', true],
    ['1', true],
    [true, true],
  ],
  sessions_dir: [
    ['a', 'a'],
    ['b', 'b'],
    ['c', 'c'],
  ],
  fixtures: [
    ['[a, b]', ['a', 'b']],
    ['c, d', ['c', 'd']],
    [
      ['e', 'f'],
      ['e', 'f'],
    ],
  ],
  seed_file: [
    ['none', ['none']],
    ['a.yaml, b.yaml', ['a.yaml', 'b.yaml']],
    [['c.yaml'], ['c.yaml']],
  ],
  tools: [
    ['eager', 'eager'],
    ['requested', 'requested'],
    ['eager', 'eager'],
  ],
  on_unmatched: [
    ['error', 'error'],
    ['generate', 'generate'],
    ['error', 'error'],
  ],
  default_provider: [
    ['anthropic', 'anthropic'],
    ['mistral', 'mistral'],
    ['xai', 'xai'],
  ],
  backend: [
    ['forward', 'forward'],
    ['fixture', 'fixture'],
    ['forward', 'forward'],
  ],
  client_timeout: [
    ['1s', 1_000],
    ['2m', 120_000],
    ['300ms', 300],
  ],
  skip_latency: [
    ['true', true],
    ['1', true],
    [true, true],
  ],
  keep_traces: [
    ['1', 1],
    ['2', 2],
    ['3', 3],
  ],
  max_sessions: [
    ['1', 1],
    ['2', 2],
    ['3', 3],
  ],
  session_ttl: [
    ['10m', 600_000],
    ['1h', 3_600_000],
    ['1s', 1_000],
  ],
  keep_trace_bytes: [
    ['1', 1],
    ['2KiB', 2048],
    ['3MB', 3_000_000],
  ],
  keep_response_bytes: [
    ['1', 1],
    ['2KiB', 2048],
    ['3MB', 3_000_000],
  ],
  max_calls: [
    ['0', 0],
    ['2', 2],
    ['3', 3],
  ],
  max_cost: [
    ['1.5', 1.5],
    ['0.02', 0.02],
    ['3', 3],
  ],
  strict: [
    ['true', true],
    ['0', false],
    [true, true],
  ],
  tokens: [
    ['{ key: { workspace: acme, project: support } }', { key: { workspace: 'acme', project: 'support' } }],
    ['only the file can say it', {}],
    ['likewise', {}],
  ],
  scenario: [
    ['[outage]', ['outage']],
    ['one, two', ['one', 'two']],
    [['three'], ['three']],
  ],
  seed: [
    ['1', 1],
    ['2', 2],
    ['3', 3],
  ],
  clock: [
    ['virtual', 'virtual'],
    ['real', 'real'],
    ['virtual', 'virtual'],
  ],
  namespace: [
    ['a', 'a'],
    ['b_2', 'b_2'],
    ['c', 'c'],
  ],
  token: [
    ['one', ['one']],
    ['two,three', ['two', 'three']],
    [['four'], ['four']],
  ],
  cors: [
    ['"*"', ['*']],
    ['http://localhost:3000', ['http://localhost:3000']],
    [['http://[::1]:3000'], ['http://[::1]:3000']],
  ],
  max_response: [
    ['1KiB', 1_024],
    ['2048', 2_048],
    ['3MiB', 3_145_728],
  ],
  max_body: [
    ['1000', 1000],
    ['2KiB', 2048],
    ['1.5 MB', 1_500_000],
  ],
  json: [
    ['true', true],
    ['0', false],
    [true, true],
  ],
  verbose: [
    ['true', true],
    ['0', false],
    [true, true],
  ],
  stop_with_stdin: [
    ['true', true],
    ['0', false],
    [true, true],
  ],
  ready_file: [
    ['a.json', 'a.json'],
    ['b.json', 'b.json'],
    ['c.json', 'c.json'],
  ],
}
const keys = Object.keys(SETTINGS) as Key[]

test('config samples: cover every setting', () => {
  expect(Object.keys(samples).sort()).toEqual([...keys].sort())
})

const everywhere = keys.filter((key) => !isFileOnly(key))
test.each(everywhere)('setting %s: is read from a flag before the environment before the file', (key) => {
  const [[yaml, inFile], [variable, inEnvironment], [flag, inFlag]] = samples[key]
  const name = `UNDERSTUDY_${key.toUpperCase()}`
  const settings = withFile(`${key}: ${yaml}\n`)
  expect(readConfig({}, settings)[key]).toEqual(inFile)
  expect(readConfig({}, { ...settings, [name]: variable })[key]).toEqual(inEnvironment)
  expect(readConfig({ [key]: flag }, { ...settings, [name]: variable })[key]).toEqual(inFlag)
  expect(readConfig({}, { ...settings, [name]: '' })[key]).toEqual(inFile)
})

test.each([
  ['redact: ["metadata.."]', 'redact must be a list of paths such as messages[*].name, got "metadata.."'],
  ['volatile: [{ name: x, path: user, pattern: "(" }]', 'volatile[0].pattern must be a regular expression, got "("'],
  ['volatile: [{ path: user }]', 'volatile[0].name is required'],
  ['volatile: [{ name: x, path: a..b }]', 'volatile[0].path must be the path of a field'],
  ['volatile: [{ name: x, path: a }, { name: x, path: b }]', 'volatile[1].name must be unique, got "x"'],
])('paths of fields, %s: are an error that says why', (yaml, message) => {
  expect(() => readConfig({}, withFile(`${yaml}\n`))).toThrow(message)
})

test('workspace of a token: is set only in the file', () => {
  const [[yaml, value]] = samples.tokens
  expect(readConfig({}, withFile(`tokens: ${yaml}\n`)).tokens).toEqual(value)
  expect(readConfig({}, withFile('tokens: { key: { project: support } }\n')).tokens).toEqual({
    key: { workspace: 'default', project: 'support' },
  })
  expect(() => readConfig({}, { UNDERSTUDY_TOKENS: yaml })).toThrow('UNDERSTUDY_TOKENS is not a setting')
  expect(() => readConfig({}, withFile('tokens: { key: { project: a/b } }\n'))).toThrow('from tokens to a workspace')
})

test('settings: have defaults and are immutable', () => {
  const config = readConfig({}, withFile('# nothing\n'))
  expect(config).toMatchObject({
    port: 8633,
    db: 'understudy.db',
    on_unmatched: 'generate',
    tools: 'requested',
    namespace: 'svc',
    max_body: 33_554_432,
    max_response: 67_108_864,
  })
  expect(config).toMatchObject({ host: undefined, token: [], cors: [], fixtures: [], json: false })
  expect(Object.isFrozen(config)).toBe(true)
})

test('serve help: has every setting with its default', async () => {
  const { stdout } = await runCommand(['help', 'serve'])
  const help = stdout.replace(/\s+/g, ' ')
  for (const key of everywhere) {
    const { takes, help: text, fallback } = SETTINGS[key]
    expect(help).toContain(`${flagOf(key)}${takes ? ` <${takes}>` : ''} ${text}`)
    if (isList(key)) expect(text).toContain('repeatable')
    else if (typeof fallback === 'string') expect(help).toContain(`(default: ${fallback})`)
  }
  expect(help).toContain('(default: 8633)')
  expect(help).toContain('(default: 32MiB)')
})
