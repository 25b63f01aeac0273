// Every usage error is one plain line that names the value and what is valid, with exit code 2.
import { afterAll, expect, test } from 'bun:test'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { runCommand } from '../support/cli.ts'
import { emptyFolder } from '../support/server.ts'

const folder = emptyFolder()
const cwd = folder.path
afterAll(folder.remove)
mkdirSync(join(cwd, 'a-folder'))
writeFileSync(join(cwd, 'wrong.yaml'), 'match: { usr: hi }\nreply: { content: x }\n')

interface Typed {
  args?: string[]
  env?: Record<string, string>
  yaml?: string
}
const flag = (...args: string[]): Typed => ({ args })
const variable = (name: string, value: string): Typed => ({ env: { [name]: value } })
const file = (yaml: string): Typed => ({ yaml })
const port = 'a number from 0 to 65535'

const rows: [string, Typed, string[]][] = [
  ['a port that is a word', flag('--port', 'http'), ['--port must be', 'got "http"', port]],
  ['a port that is too high', flag('--port', '65536'), ['--port must be', 'got "65536"', port]],
  ['a port below 0', flag('--port', '-1'), ['--port must be', 'got "-1"', port]],
  ['a fractional port', flag('--port', '80.5'), ['--port must be', 'got "80.5"', port]],
  ['an empty port', flag('--port', ''), ['--port must be', 'got ""', port]],
  ['a missing port', flag('--port'), ['--port <NUMBER> needs a value', '0 picks a free port']],
  [
    'a host with a slash',
    flag('--host', 'http://x'),
    ['--host must be', 'got "http://x"', 'a host name or an address'],
  ],
  ['every interface without a token', flag('--host', '0.0.0.0'), ['--host 0.0.0.0', '--token']],
  ['another address without a token', flag('--host', '192.0.2.1'), ['--host 192.0.2.1', '--token']],
  ['an empty database name', flag('--db', ''), ['--db must be', 'got ""', 'a file path or :memory:']],
  ['a missing fixtures folder', flag('--fixtures', 'nowhere'), ['nowhere', 'no such file or folder']],
  ['a fixture with an unknown key', flag('--fixtures', 'wrong.yaml'), ['wrong.yaml:1', 'operation']],
  [
    'an invalid --on-unmatched',
    flag('--on-unmatched', 'explode'),
    ['--on-unmatched must be', 'got "explode"', 'generate or error'],
  ],
  ['a backend', flag('--backend', 'real'), ['--backend must be', 'got "real"', 'fixture or forward']],
  ['a seed that is a word', flag('--seed', 'lucky'), ['--seed must be', 'got "lucky"', 'a whole number from 0']],
  ['a seed that is too large', flag('--seed', '99999999999999999999'), ['--seed', 'a whole number from 0']],
  ['a limit of 0 traces', flag('--keep-traces', '0'), ['--keep-traces must be', 'got "0"', 'a whole number from 1']],
  [
    'a limit of 0 sessions',
    flag('--max-sessions', '0'),
    ['--max-sessions must be', 'got "0"', 'a whole number from 1'],
  ],
  ['a session ttl of 0', flag('--session-ttl', '10ms'), ['--session-ttl must be', 'got "10ms"', 'from 1s']],
  ['an invalid clock', flag('--clock', 'sundial'), ['--clock must be', 'got "sundial"', 'real or virtual']],
  [
    'an invalid namespace',
    flag('--namespace', 'My Space'),
    ['--namespace must be', 'got "My Space"', 'lowercase letters'],
  ],
  ['a token with a space', flag('--token', 'a b'), ['--token must be a string', 'without spaces or #']],
  ['an invalid token of two', flag('--token', 'good', '--token', 'a#b'), ['--token must be a string']],
  [
    'an origin with a path',
    flag('--cors', 'http://localhost:3000/'),
    ['--cors must be', 'got "http://localhost:3000/"', 'http://localhost:3000, or *'],
  ],
  ['an invalid size', flag('--max-body', 'huge'), ['--max-body must be', 'got "huge"', '32MiB']],
  ['a size of 0', flag('--max-body', '0'), ['--max-body must be', 'got "0"', '32MiB']],
  ['a switch with a value', flag('--json=no'), ["'--json=...'", '--ready-file']],
  [
    'a ready file in a missing folder',
    flag('--ready-file', 'nowhere/ready'),
    ['--ready-file "nowhere/ready"', 'cannot be written'],
  ],
  ['a ready file that is a folder', flag('--ready-file', 'a-folder'), ['--ready-file "a-folder"', 'cannot be written']],
  ['an unknown flag', flag('--prot', '1'), ["'--prot'", '--port, --host, --db']],
  ['a short flag', flag('-p', '1'), ["'-p'", '--port']],
  ['an argument too many', flag('now'), ['(now)', "'serve'"]],
  ['an unknown command', { args: ['!', 'sing'] }, ["unknown command 'sing'", 'serve', 'help']],
  ['a command named like a keyword', { args: ['!', 'toString'] }, ["unknown command 'toString'", 'serve']],
  ['a command named like an object property', { args: ['!', '__proto__'] }, ["unknown command '__proto__'", 'serve']],
  ['help for an unknown command', { args: ['!', 'help', 'sing'] }, ["'sing'", 'serve', 'help']],
  ['an unknown flag without a command', { args: ['!', '--sing'] }, ["'--sing'", '--version']],
  ['a missing settings file', flag('--config', 'nowhere.yaml'), ['"nowhere.yaml"', 'does not exist']],
  ['a settings file that is a folder', flag('--config', 'a-folder'), ['"a-folder"', 'cannot be read']],
  ['an invalid variable', variable('UNDERSTUDY_PORT', 'http'), ['UNDERSTUDY_PORT must be', 'got "http"', port]],
  ['a variable with one invalid item', variable('UNDERSTUDY_TOKEN', 'a, b c'), ['UNDERSTUDY_TOKEN must be a string']],
  [
    'an invalid switch in the environment',
    variable('UNDERSTUDY_JSON', 'maybe'),
    ['UNDERSTUDY_JSON must be', 'got "maybe"', 'true or false'],
  ],
  ['an unknown variable', variable('UNDERSTUDY_PROT', '1'), ['UNDERSTUDY_PROT', 'UNDERSTUDY_PORT, UNDERSTUDY_HOST']],
  ['an invalid settings file named by a variable', variable('UNDERSTUDY_CONFIG', 'nowhere.yaml'), ['"nowhere.yaml"']],
  [
    'an invalid value in the file',
    file('seed: 1\nport: http'),
    ['understudy.yaml:2: port must be', 'got "http"', port],
  ],
  ['an empty value in the file', file('port:'), ['understudy.yaml:1: port must be', 'got null', port]],
  ['an invalid item in the file', file('token: [good, "a b"]'), ['understudy.yaml:1: token must be a string']],
  ['a number for a list in the file', file('fixtures: 5'), ['fixtures must be', 'got 5', 'a file or folder']],
  ['an unknown key in the file', file('db: x\nprot: 1'), ['understudy.yaml:2: prot', 'port, host, db']],
  ['a flag as key in the file', file('on-unmatched: error'), ['on-unmatched', 'on_unmatched']],
  ['a duplicate key in the file', file('port: 1\nport: 2'), ['understudy.yaml:2', 'unique']],
  [
    'a file that is a list',
    file('[port]'),
    ['understudy.yaml must be a mapping of settings, got a list', 'port, host, db'],
  ],
  [
    'a file that is a text',
    file('port'),
    ['understudy.yaml must be a mapping of settings, got a string', 'port, host, db'],
  ],
  ['a file that is invalid YAML', file('port: "1'), ['understudy.yaml:', 'quote']],
  [
    'an invalid provider in the file',
    file('seed: 1\nproviders:\n  x:\n    kind: y'),
    ['understudy.yaml:4: providers.x.kind must be', 'got "y"'],
  ],
  ['an alias without an anchor', file('db: *other'), ['understudy.yaml', 'other']],
]

test.each(rows)('start error: is one line for %s', async (_, { args = [], env = {}, yaml }, said) => {
  const settings = join(cwd, 'understudy.yaml')
  if (yaml === undefined) rmSync(settings, { force: true })
  else writeFileSync(settings, `${yaml}\n`)
  // `!` begins a whole command line; everything else is given to serve.
  const line = args[0] === '!' ? args.slice(1) : ['serve', ...args]
  const { code, stdout, stderr } = await runCommand(line, { cwd, env })
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  expect(stderr).toMatch(/^understudy: [^\n]+\n$/)
  for (const part of said) expect(stderr).toContain(part)
})
