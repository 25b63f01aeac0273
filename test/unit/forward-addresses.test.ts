// The addresses of a provider's operations.
import { expect, test } from 'bun:test'
import { addressesOf } from '../../src/backends/forward/openai-compatible.ts'

const CHAT = { path: '/v2/router/chat/completions', name: 'chat.completions' }

test.each([
  ['http://127.0.0.1:1/v1', 'http://127.0.0.1:1/v1/chat/completions'],
  ['http://127.0.0.1:1/v1/', 'http://127.0.0.1:1/v1/chat/completions'],
  ['HTTPS://Provider.test', 'https://provider.test/chat/completions'],
  ['https://u:p@provider.test/a b?api-version=1#c', 'https://u:p@provider.test/a%20b/chat/completions?api-version=1#c'],
  ['https://provider.test/?api-version=1', 'https://provider.test/chat/completions?api-version=1'],
  ['https://provider.test/v1?', 'https://provider.test/v1/chat/completions?'],
])('base address: keeps all its parts when it is %s', (baseUrl, expected) => {
  const addressOf = addressesOf({ name: 'provider', keyOptional: true, baseUrl })
  expect(addressOf(CHAT, 'model')).toBe(expected)
})
