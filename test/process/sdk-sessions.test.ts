// Sessions as a client of the OpenAI SDK selects them, by token, header or base URL; and what survives a restart.
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import OpenAI from 'openai'
import type { TraceRecord } from '../../src/contract/core/trace.ts'
import { emptyFolder, type Server, startServer } from '../support/server.ts'

const folder = emptyFolder()
const start = () => startServer([], { cwd: folder.path })
let server: Server
const clientOf = (more: object = {}) =>
  new OpenAI({ baseURL: `${server.url}/v2/router`, apiKey: 'any', maxRetries: 0, ...more })
const say = (content: string) => ({ model: 'openai/gpt-4o', messages: [{ role: 'user' as const, content }] })
beforeAll(async () => {
  server = await start()
})
afterAll(async () => {
  await server.stop()
  folder.remove()
})

async function traces(path = '', headers: Record<string, string> = {}): Promise<TraceRecord[]> {
  const response = await fetch(`${server.url}${path}/_understudy/traces`, { headers })
  return ((await response.json()) as { data: TraceRecord[] }).data
}

describe('SDK sessions', () => {
  const ways: [string, (name: string) => OpenAI, (name: string) => [string, Record<string, string>]][] = [
    [
      'the token',
      (name) => clientOf({ apiKey: `session:${name}` }),
      (name) => ['', { authorization: `Bearer session:${name}` }],
    ],
    [
      'the end of the token',
      (name) => clientOf({ apiKey: `any#${name}` }),
      (name) => ['', { authorization: `Bearer any#${name}` }],
    ],
    [
      'the header',
      (name) => clientOf({ defaultHeaders: { 'x-understudy-session': name } }),
      (name) => ['', { 'x-understudy-session': name }],
    ],
    ['the prefix', (name) => clientOf({ baseURL: `${server.url}/s/${name}/v2/router` }), (name) => [`/s/${name}`, {}]],
  ]
  test.each(ways)('do not see each other when selected by %s', async (way, clientFor, reading) => {
    const names = ['a', 'b'].map((letter) => `${letter}-${way.replaceAll(' ', '-')}`)
    const before = (await traces()).length
    for (const name of names) {
      const { response } = await clientFor(name)
        .chat.completions.create(say(`of ${name}`))
        .withResponse()
      expect(response.headers.get('x-understudy-session')).toBe(name)
    }
    for (const name of names) {
      const seen = await traces(...reading(name))
      expect(seen.map(({ session }) => session)).toEqual([name])
    }
    expect((await traces()).length).toBe(before)
  })
})

test('restart: keeps traces, and ids continue', async () => {
  for (const text of ['one', 'two', 'three']) await clientOf().chat.completions.create(say(text))
  const before = await traces()
  expect(before.length).toBe(3)

  expect(await server.stop()).toBe(0)
  server = await start()
  expect(await traces()).toEqual(before)
  const { response } = await clientOf().chat.completions.create(say('Hello!')).withResponse()
  const id = response.headers.get('x-understudy-trace')
  expect(before.map((trace) => trace.id)).not.toContain(id as string)
  expect((await traces())[0]?.id).toBe(id as string)
})
