import { expect, test } from 'bun:test'
import type { NotedRequest } from '../../src/cassettes/noted.ts'
import { packBatch, unpackBatch } from '../../src/workers/recording-batch.ts'
import { frame } from '../support/cassettes.ts'

test('batch of attempts: is the same in another thread', () => {
  const about = {
    provider: 'openai',
    operation: 'chat.completions',
    model: 'm',
    path: '/v1',
    headers: { 'openai-beta': 'a' },
  }
  const bodies: NotedRequest['body'][] = ['', '{"a":"\ud83d"}', [{ name: 'a', value: 'b' }], 'text', []]
  const begun = bodies.map((body, number) => ({
    number,
    session: 's',
    started: number / 3,
    request: { ...about, body },
  }))
  const headers = [['date', 'now'] as const]
  const frames = [frame(1, 'ab'), { at: 2, bytes: Uint8Array.of(255, 0, 128) }, frame(3, '')]
  const ended = [
    { number: 1, session: 's', attempt: { end: 'reset', endedAt: 5, reason: 'ECONNREFUSED' } },
    {
      number: 2,
      session: 't',
      attempt: { end: 'complete', endedAt: 6, response: { status: 200, headers, at: 4, frames } },
    },
    {
      number: 0,
      session: 's',
      attempt: { end: 'complete', endedAt: 7, response: { status: 204, headers: [], at: 4, frames: [] } },
    },
    {
      number: 3,
      session: 's',
      attempt: {
        end: 'timed out',
        endedAt: 8,
        response: { status: 200, headers, at: 4, frames: [frame(9, 'c')], omitted: 3 },
      },
    },
  ] as const
  expect(unpackBatch(structuredClone(packBatch({ begun, ended })))).toEqual({ begun, ended: [...ended] })
})
