// Lists of very many invalid entries are quickly a 400 that names the first, or the list that is too long, and do not block the server.
import { afterAll, expect, test } from 'bun:test'
import { testApps } from '../support/app.ts'

const { appWith, close } = testApps()
const app = appWith()
afterAll(close)

/** As many as a body may hold. */
const MANY = 80_000
const many = (entry: string, begin: readonly string[] = [], count = MANY) =>
  `[${[...begin, ...Array.from({ length: count - begin.length }, () => entry)].join(',')}]`
const chat = (more: string) => `{"model":"openai/gpt-4o","messages":[{"role":"user","content":"x"}],${more}}`
const GOOD = '{"role":"user","content":"x"}'

const ROWS: [what: string, place: string, body: string, param: string][] = [
  ['messages', 'POST /v1/chat/completions', `{"model":"gpt-4o","messages":${many('1')}}`, 'messages[0]'],
  [
    'parts',
    'POST /v1/chat/completions',
    `{"model":"gpt-4o","messages":[{"role":"user","content":${many('1')}}]}`,
    'messages[0].content[0]',
  ],
  ['tools', 'POST /v2/router/chat/completions', chat(`"tools":${many('null')}`), 'tools[0]'],
  [
    'entries with unknown keys',
    'POST /v2/router/chat/completions',
    chat(`"fallbacks":${many('{"x":1}')}`),
    'fallbacks',
  ],
  [
    'nested lists',
    'POST /v1/chat/completions',
    `{"model":"gpt-4o","messages":[${'[1],'.repeat(MANY)}[1]]}`,
    'messages[0]',
  ],
  [
    'messages after valid ones',
    'POST /v1/chat/completions',
    `{"model":"gpt-4o","messages":${many('1', Array(12_000).fill(GOOD))}}`,
    'messages[12000]',
  ],
  [
    'Anthropic messages',
    'POST /v1/messages',
    `{"model":"claude-sonnet-4","max_tokens":5,"messages":${many('"a"')}}`,
    '',
  ],
  ['input', 'POST /v1/responses', `{"model":"gpt-4o","input":${many('true')}}`, 'input[0]'],
  [
    'documents',
    'POST /v2/router/rerank',
    `{"model":"cohere/rerank-v3.5","query":"a","documents":${many('1')}}`,
    'documents',
  ],
  ['expectations', 'POST /_understudy/verify', `{"expect":${many('1')}}`, 'expect[0]'],
  ['rules', 'PUT /_understudy/scenario', `{"name":"a","rules":${many('1')}}`, 'rules'],
  ['fixtures', 'PUT /_understudy/fixtures', many('{}'), 'fixtures[0]'],
  [
    'rows',
    'POST /_understudy/snapshot',
    `{"understudy_snapshot":1,"tables":{"records":${many('1')}}}`,
    'tables.records[0]',
  ],
]
test.each(ROWS)(
  'request with very many invalid %s: is a short 400 that names the first',
  async (_, place, body, param) => {
    const [method, path = ''] = place.split(' ')
    const headers = { authorization: 'Bearer any', 'content-type': 'application/json' }
    const answer = await app.fetch(path, { method, headers, body })
    expect([answer.status, answer.text.length < 2_000]).toEqual([400, true])
    expect((answer.json() as { error: { param?: string } }).error.param ?? '').toStartWith(param)
  },
)

const MORE = 1_500_000
test.each([
  ['POST /v1/chat/completions', `{"model":"gpt-4o","messages":${many('1', [], MORE)}}`],
  ['POST /v2/router/rerank', `{"model":"cohere/rerank-v3.5","query":"a","documents":${many('"a"', [], MORE)}}`],
  ['POST /v2/contacts', `{"external_id":"a","tags":${many('1', [], MORE)}}`],
  ['POST /_understudy/verify', `{"expect":${many('{}', [], MORE)}}`],
])('request with too many values: is a 400 (%s)', async (place, body) => {
  const [method, path = ''] = place.split(' ')
  const headers = { authorization: 'Bearer any', 'content-type': 'application/json' }
  const answer = await app.fetch(path, { method, headers, body })
  expect([answer.status, answer.text]).toEqual([400, expect.stringMatching(/the body has more than \d+ values/)])
})

test('request with very many unknown keys: is a short 400', async () => {
  const keys = Array.from({ length: 300_000 }, (_, index) => `"k${index}":1`).join(',')
  const answer = await app.fetch('/_understudy/sessions', {
    ...{ method: 'POST', headers: { authorization: 'Bearer any', 'content-type': 'application/json' } },
    body: `{"name":"a",${keys}}`,
  })
  expect([answer.status, answer.text.length < 2_000]).toEqual([400, true])
})
