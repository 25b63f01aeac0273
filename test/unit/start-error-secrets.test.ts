// Errors at the start end up in logs: they name what is wrong and quote no secret.
import { afterAll, expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { readConfig } from '../../src/config.ts'
import { runCommand } from '../support/cli.ts'
import { emptyFolder } from '../support/server.ts'

const folder = emptyFolder()
afterAll(folder.remove)
const file = join(folder.path, 'settings.yaml')
const HUSH = 'tell-nobody-7'

const messageOf = (flags: Record<string, unknown>, environment: Record<string, string>): string => {
  try {
    readConfig(flags, environment)
  } catch (error) {
    return (error as Error).message
  }
  return ''
}

const FILES: [what: string, yaml: string, says: string][] = [
  ['a password in an address', `providers:\n  x: { base_url: "http://me:${HUSH}@c" }`, 'http://(masked)@c'],
  ['a password without a scheme', `providers:\n  x: { base_url: "me:${HUSH}@c" }`, 'providers.x.base_url'],
  ['a password with a slash', `providers:\n  x: { base_url: "ftp://me:${HUSH}/x@c" }`, 'providers.x.base_url'],
  ['a key in a query', `providers:\n  x: { base_url: "ftp://c/?q=${HUSH}" }`, 'ftp://c/?q=(masked)'],
  ['a key after a #', `providers:\n  x: { base_url: "http://c/#${HUSH}" }`, 'providers.x.base_url'],
  ['a key with a space', `providers:\n  x: { api_key: "${HUSH} x" }`, 'providers.x.api_key must be a string'],
  ['a key that is a list', `providers:\n  x: { api_key: [${HUSH}] }`, 'providers.x.api_key must be a string'],
  ['providers that are a text', `providers: ${HUSH}`, 'providers must be a mapping of providers by name, got a string'],
  [
    'providers that are a list',
    `providers: [{ api_key: ${HUSH} }]`,
    'providers must be a mapping of providers by name, got a list',
  ],
  ['a file that is a text', HUSH, 'settings.yaml must be a mapping of settings, got a string'],
  ['a file that is invalid YAML', `token: "a" "${HUSH}"`, 'settings.yaml:1: '],
  ['another file that is invalid YAML', `token: [${HUSH}\n${HUSH}: ]x`, 'settings.yaml:'],
  ['a token with a space', `token: ["a ${HUSH}"]`, 'token must be a string without spaces'],
  ['a token with a workspace', `tokens: { "${HUSH}": 7 }`, 'tokens must be a mapping'],
  ['an invalid collector', `otlp: "ht!tp://me:${HUSH}@c/?x=${HUSH}"`, 'otlp '],
  ['an invalid origin', `cors: ["http://me:${HUSH}@c"]`, 'cors '],
  [
    'a value of another setting',
    `port: "api_key=${HUSH}"`,
    'port must be a number from 0 to 65535, got "api_key=(masked)"',
  ],
]
test.each(FILES)('secret in the settings file: is not printed for %s', (_, yaml, says) => {
  writeFileSync(file, `${yaml}\n`)
  const message = messageOf({}, { UNDERSTUDY_CONFIG: file })
  expect(message).toContain(says)
  expect(message).not.toContain(HUSH)
})

const VARIABLES: Record<string, string>[] = [
  { UNDERSTUDY_TOKEN: `a ${HUSH}` },
  { UNDERSTUDY_OTLP: `me:${HUSH}@c` },
  { UNDERSTUDY_OTLP: 'env', OTEL_EXPORTER_OTLP_ENDPOINT: `ftp://me:${HUSH}@c` },
  { UNDERSTUDY_OTLP: 'env', OTEL_EXPORTER_OTLP_HEADERS: `authorization ${HUSH}` },
  { UNDERSTUDY_BACKEND: 'forward', OPENAI_API_KEY: `${HUSH} x` },
]
test.each(VARIABLES)('secret in the environment: is not printed for %j', (environment) => {
  const message = messageOf({}, environment)
  expect(message).toContain(' must be ')
  expect(message).not.toContain(HUSH)
})

const COMMANDS: string[][] = [
  ['serve', '--token', `a ${HUSH}`],
  ['serve', `--tokn=${HUSH}`],
  ['serve', '--otlp', `//me:${HUSH}@c`],
  ['health', '--url', `ftp://me:${HUSH}@127.0.0.1:9`],
  ['health', '--url', `http://me:${HUSH}@127.0.0.1:9`],
  ['reset', '--url', `http://me:${HUSH}@127.0.0.1:9`],
  ['trace', 'list', '--url', `http://127.0.0.1:9/?token=${HUSH}`],
  ['rehearse', 'outage', '--against', `http://me:${HUSH}@127.0.0.1:9`],
]
test.each(COMMANDS)('secret on the command line: is not printed for %s %s %s', async (...args) => {
  const { code, stdout, stderr } = await runCommand(args, { cwd: folder.path })
  expect([code > 0, stderr.length > 0]).toEqual([true, true])
  expect(stdout + stderr).not.toContain(HUSH)
})
