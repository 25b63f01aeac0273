// The path that was probably meant by an unknown one, or none.
import { expect, test } from 'bun:test'
import { likelyPath } from '../../src/lib/likely-name.ts'

const CHAT = '/v2/router/chat/completions'
const known = [
  CHAT,
  '/v2/router/responses',
  '/v2/router/completions',
  '/v2/router/embeddings',
  '/v2/router/images/generations',
  '/v2/datasets',
  '/v2/datasets/:id',
  '/v2/files/:file_id/content',
  '/_understudy/verify',
]

const rows: [called: string, likely: string | null][] = [
  ['/v1/chat/completions', CHAT],
  ['/chat/completions', CHAT],
  ['/v2/chat/completions', CHAT],
  ['/v2/router/v1/chat/completions', CHAT],
  ['/v2/router/chat/completions/chat/completions', CHAT],
  ['/openai/deployments/gpt-4o/chat/completions', CHAT],
  ['/V1/Chat/Completions', CHAT],
  ['/v2/router/chat/completion', CHAT],
  ['/v2/router/chat/completions/', CHAT],
  ['/v1/completions', '/v2/router/completions'],
  ['/v1/responses', '/v2/router/responses'],
  ['/v1/embeddings', '/v2/router/embeddings'],
  ['/v1/images/generations', '/v2/router/images/generations'],
  ['/datasets/01ABC', '/v2/datasets/:id'],
  ['/v1/files/01ABC/content', '/v2/files/:file_id/content'],
  ['/verify', null],
  ['/', null],
  ['/v1', null],
  ['/v2/router', null],
  ['/favicon.ico', null],
  ['/robots.txt', null],
  ['/health', null],
  ['/v1/messages', null],
  ['/v1/audio/speech', null],
]
test.each([
  ['//v1/chat/completions', '/v1/chat/completions'],
  ['/v1//chat/completions', '/v1/chat/completions'],
  ['//v2/router/chat/completions', CHAT],
  ['//chat/completions', '/v1/chat/completions'],
  ['/chat/completions', '/v1/chat/completions'],
  ['/openai/v1/chat/completions', '/v1/chat/completions'],
  ['/router/chat/completions', CHAT],
  ['/v2/chat/completions', CHAT],
])('likelyPath %s: is %p, the one that shares most with it', (called, likely) => {
  expect(likelyPath(called, [...known, '/v1/chat/completions'])).toBe(likely)
})

test.each(rows)('likelyPath %s: is %p', (called, likely) => {
  expect(likelyPath(called, known)).toBe(likely)
})
