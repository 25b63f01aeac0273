// What npm run fuzz has found, minimized: each row once caused a response that no client should receive.
import { expect, test } from 'bun:test'
import { replay } from '../fuzz/program.ts'
import type { FuzzRequest } from '../fuzz/requests.ts'

const headers = { authorization: 'Bearer fuzz', 'content-type': 'application/json' }
const post = (path: string, json: unknown): FuzzRequest => ({ method: 'POST', path, headers, body: { json } })

const trace = (request: string) => ({
  seq: 1,
  id: 'a',
  started: 1,
  status: 200,
  record: {},
  request,
  rendered: 'null',
  answer: 'null',
})

const ROWS: [found: string, requests: FuzzRequest[]][] = [
  [
    'unknown path in a session with an invalid name returns the envelope',
    [{ method: 'PATCH', path: '//', headers: { ...headers, 'x-understudy-session': '' }, body: { json: {} } }],
  ],
  [
    'task of an agent has the id of its request',
    [
      post('/v2/agents', {
        ...{ key: 'support', role: 'S', description: 'A', instructions: 'H', path: 'D', model: 'openai/gpt-4o' },
        settings: {},
      }),
      post('/v2/agents/support/task', { message: { role: 'user', parts: [{ kind: 'text', text: 'W' }] } }),
    ],
  ],
  [
    'table name is shortened in the error',
    [post('/_understudy/snapshot', { understudy_snapshot: 1, tables: { ['x'.repeat(20_000)]: 1 } })],
  ],
  [
    'virtual clock stays within the range of ids',
    [
      post('/_understudy/sessions/default/clock', { set: '0001-01-01T00:00:00Z' }),
      post('/v2/contacts', { external_id: 'a' }),
      post('/_understudy/sessions/default/clock', { advance: '999999999999999h' }),
      post('/v2/contacts', { external_id: 'b' }),
    ],
  ],
  [
    'trace with an invalid JSON request can be verified',
    [
      post('/_understudy/snapshot', { understudy_snapshot: 1, tables: { traces: [trace('{')] } }),
      { method: 'GET', path: '/_understudy/verify', headers },
    ],
  ],
  [
    'object whose toString is no function is an error of its field',
    [
      post('/v2/tools', { type: { toString: 1, valueOf: 1 } }),
      post('/v2/router/chat/completions', { model: 'openai/gpt-4o', messages: [{ role: { toString: [] } }] }),
    ],
  ],
  [
    'invalid authorization is an error in the envelope',
    ['Bearer a b', 'Basic eDp5', 'fuzz'].map((authorization) => ({
      ...post('/v2/router/chat/completions', {}),
      headers: { ...headers, authorization },
    })),
  ],
  [
    'invalid content length is an error in the envelope',
    [post('/v2/feedback', { property: { length: { toString: 'u' } } })],
  ],
]

test.each(ROWS)(
  'fixed by fuzzing: %s',
  async (_, requests) => {
    expect(await replay(requests)).toBeUndefined()
  },
  120_000,
)
