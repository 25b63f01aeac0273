// The providers of understudy.yaml: which are forwarded to, where and with which key; and its errors.
import { afterAll, describe, expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { addressLine } from '../../src/config/addresses.ts'
import { describeForwarding } from '../../src/config/providers.ts'
import { readConfig } from '../../src/config.ts'
import { missingSetting } from '../../src/providers/endpoints.ts'
import { emptyFolder } from '../support/server.ts'

const folder = emptyFolder()
afterAll(folder.remove)
const file = join(folder.path, 'settings.yaml')
const read = (yaml: string, environment: Record<string, string> = {}) => {
  writeFileSync(file, yaml)
  return readConfig({}, { ...environment, UNDERSTUDY_CONFIG: file }).forwarding
}
const upstreamsOf = (yaml: string, environment?: Record<string, string>) =>
  read(yaml, environment).upstreams.map(({ name, modelPackage, baseUrl, key }) => [
    name,
    modelPackage?.key ?? 'openai-compatible',
    baseUrl,
    key,
  ])

const keys = { OPENAI_API_KEY: 'sk-1', ANTHROPIC_API_KEY: 'sk-2' }
const secret = 'sk-hush hush'

describe('forwarded providers', () => {
  const rows: [string, string, unknown[]][] = [
    ['none by default', '', []],
    ['none for a provider without a backend', 'providers:\n  openai:\n    api_key: x\n', []],
    [
      'one with its usual address and key',
      'providers:\n  openai: { backend: forward }\n',
      [['openai', 'openai-compatible', 'https://api.openai.com/v1', 'sk-1']],
    ],
    [
      'one with an address and key of its own',
      `providers:\n  openai:\n    base_url: http://127.0.0.1:1/v1/\n    api_key: \${ANTHROPIC_API_KEY}\n    backend: forward\n`,
      [['openai', 'openai-compatible', 'http://127.0.0.1:1/v1', 'sk-2']],
    ],
    [
      'one of any name, kind and literal key',
      'providers:\n  my-claude: { kind: anthropic, api_key: literal, backend: forward }\n',
      [['my-claude', 'anthropic', 'https://api.anthropic.com/v1', 'literal']],
    ],
    [
      'a local model server without a key',
      'providers:\n  local: { base_url: "http://127.0.0.1:8000/v1", backend: forward }\n',
      [['local', 'openai-compatible', 'http://127.0.0.1:8000/v1', undefined]],
    ],
  ]
  test.each(rows)('are %s', (_, yaml, expected) => {
    expect(upstreamsOf(yaml, keys)).toEqual(expected as never)
  })

  test('are all known ones with --backend forward, except those set to fixture', () => {
    const forwarding = read('backend: forward\nproviders:\n  google: { backend: fixture }\n', keys)
    const names = forwarding.upstreams.map(({ name }) => name)
    expect(names).toContain('openai')
    expect(names).toContain('mistral')
    expect(names).not.toContain('google')
    expect(forwarding.forwards('google')).toBe(false)
    expect(forwarding.forwards('anthropic')).toBe(true)
    const lacking = forwarding.upstreams.flatMap((upstream) => missingSetting(upstream) ?? [])
    expect(lacking).toContain(
      'mistral needs a key: set MISTRAL_API_KEY, or providers.mistral.api_key in understudy.yaml',
    )
    expect(lacking).toContain('azure has no address: set providers.azure.base_url in understudy.yaml')
    expect(lacking.join()).not.toMatch(/openai needs|anthropic needs|ollama/)
  })
})

describe('description of forwarding', () => {
  const rows: [string, string][] = [
    ['', 'fixture: cannot reach the network'],
    [
      'providers:\n  openai: { backend: forward }\n  anthropic: { backend: forward }\n',
      'forward: calls go to openai, anthropic (other providers use fixtures)',
    ],
    ['backend: forward\n', 'forward: calls go to anthropic, ollama, openai (calls to providers without a key fail)'],
    [
      'providers:\n  groq: { backend: forward }\n',
      'forward: calls go to no provider, since no API key is set (other providers use fixtures)',
    ],
  ]
  test.each(rows)('is right for %j', (yaml, line) => {
    expect(describeForwarding(read(yaml, keys))).toBe(line)
  })
})

describe('unusual provider addresses', () => {
  const rows: [string, string, Record<string, string>, string[]][] = [
    [
      'none: the usual one, written out',
      'providers:\n  openai: { base_url: "https://api.openai.com/v1/", backend: forward }\n',
      keys,
      [],
    ],
    ['none: the usual one, by kind', 'providers:\n  x: { kind: anthropic, api_key: y, backend: forward }\n', keys, []],
    [
      'a similar one',
      'providers:\n  openai:\n    base_url: https://api.openai.com.evil.example/v1?key=hush\n    backend: forward\n',
      keys,
      [
        'calls to openai with the key from OPENAI_API_KEY go to https://api.openai.com.evil.example/v1?key=(masked) (:3)',
      ],
    ],
    [
      'one with a key of the file',
      'providers:\n  groq: { base_url: "http://10.0.0.1", api_key: hush, backend: forward }\n',
      {},
      ['calls to groq with the key from the settings go to http://10.0.0.1 (:2)'],
    ],
    [
      'one from a variable',
      `providers:\n  mine:\n    base_url: http://10.0.0.1\n    api_key: \${AWS_SECRET}\n    backend: forward\n`,
      { AWS_SECRET: 'hush' },
      ['calls to mine with the key from AWS_SECRET go to http://10.0.0.1 (:3)'],
    ],
    [
      'one without a key',
      'providers:\n  mine: { base_url: "http://10.0.0.1" }\n  other: { base_url: "http://10.0.0.2", backend: forward }\n',
      {},
      ['calls to other without a key go to http://10.0.0.2 (:3)'],
    ],
    ['none: one that is answered from fixtures', 'providers:\n  openai: { base_url: "http://10.0.0.1" }\n', keys, []],
    [
      'a proxy',
      'providers:\n  openai: { backend: forward }\n',
      { ...keys, https_proxy: 'http://me:hush@proxy:3128' },
      ['forwarded calls over https:// go to http://(masked)@proxy:3128 (https_proxy)'],
    ],
  ]
  test.each(rows)('are reported for %s', (_, yaml, environment, lines) => {
    const found = read(yaml, environment)
      .addresses.map(addressLine)
      .map((line) => line.replaceAll(file, ''))
    expect(found).toEqual(lines)
    expect(found.join()).not.toContain('hush')
  })
})

describe('invalid providers setting', () => {
  const rows: [string, string, string[]][] = [
    ['a list', 'providers: [openai]', [':1: providers must be a mapping of providers by name, got a list']],
    [
      'a provider that is a text',
      'port: 1\nproviders:\n  openai: yes',
      [':3: providers.openai', 'kind, base_url, api_key, backend'],
    ],
    ['a name with a slash', 'providers:\n  a/b: {}', [':2: providers.a/b', 'letters, digits']],
    [
      'an unknown key',
      'providers:\n  openai:\n    url: x',
      [':3: providers.openai.url', 'valid: kind, base_url, api_key, backend'],
    ],
    [
      'an invalid kind',
      'providers:\n  x: { kind: openai }',
      ['providers.x.kind must be', 'got "openai"', 'openai-compatible, anthropic or google'],
    ],
    [
      'an invalid backend',
      'providers:\n  x: { backend: real }',
      ['providers.x.backend must be', 'got "real"', 'fixture or forward'],
    ],
    [
      'an address without a scheme',
      'providers:\n  x: { base_url: localhost }',
      ['providers.x.base_url must be', 'got "localhost"', 'http or https'],
    ],
    ['an address that is not http', 'providers:\n  x: { base_url: "file:///etc" }', ['"file:///etc"', 'http or https']],
    ['an address with a password', 'providers:\n  x: { base_url: "http://a:b@c" }', ['without a user name']],
    [
      'a key with a space',
      `providers:\n  x: { api_key: ${secret} }`,
      [':2: providers.x.api_key must be a string', `\${NAME}`],
    ],
    ['a key that is a number', 'providers:\n  x: { api_key: 12345 }', ['providers.x.api_key must be a string']],
    [
      'a backend without an address',
      'providers:\n  x: { backend: forward }',
      [':2: providers.x', 'requires a base_url'],
    ],
    [
      'azure without an address',
      'providers:\n  azure: { backend: forward }',
      [':2: providers.azure', 'requires a base_url'],
    ],
  ]
  test.each(rows)('is rejected: %s', (_, yaml, said) => {
    const message = messageOf(() => read(`${yaml}\n`))
    for (const part of said) expect(message).toContain(part)
    expect(message).not.toMatch(/hush|12345|\n/)
  })

  test('does not show a key of the environment with a space in it', () => {
    const message = messageOf(() => read('backend: forward\n', { OPENAI_API_KEY: secret }))
    expect(message).toContain('OPENAI_API_KEY must be a string')
    expect(message).not.toContain('hush')
  })
})

function messageOf(work: () => unknown): string {
  try {
    work()
  } catch (error) {
    return (error as Error).message
  }
  throw new Error('nothing was thrown')
}
