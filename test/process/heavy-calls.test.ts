// Heavy calls: long texts are counted and split apart from other calls, and caches of them are bounded in bytes.
import { afterAll, describe, expect, test } from 'bun:test'
import { byteCache } from '../../src/lib/byte-cache.ts'
import { countTokens, splitTokens } from '../../src/lib/tokens.ts'
import { endWorkers, runJob } from '../../src/workers/pool.ts'
import { testApps } from '../support/app.ts'
import { emptyFolder, startServer } from '../support/server.ts'

const { appWith, close } = testApps()
afterAll(async () => {
  await close()
  endWorkers()
})

const CHAT = '/v2/router/chat/completions'
const long = 'The quick brown fox jumps over the lazy dog. '.repeat(6_000)

test('long prompt: counts the same tokens as a short one without passing virtual time', async () => {
  const app = appWith()
  const content = `${long}!`
  const answer = await app.post(CHAT, {
    model: 'openai/gpt-4.1',
    messages: [{ role: 'user', content }],
    timeout: { call_timeout: 1_000 },
  })
  const { usage } = answer.json() as { usage: { prompt_tokens: number } }
  // 3 tokens frame the message, 3 open the answer, one is its role.
  expect(usage.prompt_tokens).toBe(countTokens(content) + 7)
  expect((await app.traceOf(answer)).duration_ms).toBe(0)
})

test('long prompt: lets other calls be answered while it is counted', async () => {
  const app = appWith()
  const done: string[] = []
  const post = async (name: string, content: string) => {
    const answer = await app.post(CHAT, { model: 'openai/gpt-4.1', messages: [{ role: 'user', content }] })
    expect(answer.status).toBe(200)
    done.push(name)
  }
  await Promise.all([post('long', `${long}?`), post('short', 'Hello')])
  expect(done).toEqual(['short', 'long'])
})

test('long documents: are ranked as short ones are, without blocking other calls', async () => {
  const app = appWith()
  const documents = [long, `${long}${'How do I reset my password? '.repeat(12_000)}`, `${long}.`]
  const done: string[] = []
  const ranking = app
    .post('/v2/router/rerank', { model: 'cohere/rerank-v3.5', query: 'reset my password', documents, top_n: 2 })
    .then((answer) => {
      done.push('ranked')
      return answer.json() as { results: { index: number }[]; usage: { total_tokens: number } }
    })
  await app.post(CHAT, { model: 'openai/gpt-4.1', messages: [{ role: 'user', content: 'Hello' }] })
  done.push('short')
  const { results, usage } = await ranking
  expect(done).toEqual(['short', 'ranked'])
  expect([results.length, results[0]?.index]).toEqual([2, 1])
  const counted = ['reset my password', ...documents].reduce((sum, text) => sum + countTokens(text), 0)
  expect(usage.total_tokens).toBe(counted)
})

test('worker: splits tokens as the main thread does', async () => {
  const text = `${long.slice(0, 5_000)} 😀 ärger`
  const { ends, tokens } = await runJob('splitTokens', { text, each: 1 }, { signal: new AbortController().signal })
  const cut = Array.from(ends, (end, index) => ({
    text: text.slice(ends[index - 1] ?? 0, end),
    tokens: tokens[index] ?? 0,
  }))
  expect(cut).toEqual(splitTokens(text))
})

describe('caches', () => {
  test('drop the least recently used entries and never exceed their bytes', () => {
    const cache = byteCache<number>(100_000)
    cache.set('used', 0, 100)
    for (let index = 0; index < 10_000; index++) {
      cache.set(`key ${index}`, index, 1_000)
      expect(cache.get('used')).toBe(0)
      expect(cache.size().bytes).toBeLessThanOrEqual(100_000)
    }
    expect(cache.get('key 0')).toBeUndefined()
    expect(cache.get('key 9999')).toBe(9_999)
    cache.set('huge', 1, 60_000)
    expect(cache.get('huge')).toBeUndefined()
  })

  test('are shown in health with their limits', async () => {
    const app = appWith()
    const health = (await app.fetch('/_understudy/health')).json() as {
      caches: Record<string, { bytes: number; limit: number }>
    }
    for (const { bytes, limit } of Object.values(health.caches)) expect(bytes).toBeLessThanOrEqual(limit)
    expect(Object.keys(health.caches)).toEqual([
      'texts',
      'token_counts',
      'token_pieces',
      'samples',
      'pictures',
      'patterns',
      'scenario_counters',
      'scenario_reads',
      'live',
    ])
  })
})

test('stored response: is removed after 30 days of the clock', async () => {
  const app = appWith()
  const ask = (more: object) => app.post('/v2/router/responses', { model: 'openai/gpt-4o', input: 'Hello', ...more })
  const { id } = (await ask({})).json() as { id: string }
  expect((await ask({ previous_response_id: id })).status).toBe(200)
  await app.understudy.sessions.find('default').clock.sleep(31 * 24 * 60 * 60 * 1000)
  expect((await ask({ previous_response_id: id })).status).toBe(400)
})

test('executable: contains its workers and their data', async () => {
  const folder = emptyFolder()
  const server = await startServer(['--db', ':memory:'], { cwd: folder.path })
  try {
    const post = (body: object) =>
      fetch(`${server.url}${CHAT}`, {
        method: 'POST',
        headers: { authorization: 'Bearer any', 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'openai/gpt-4.1', messages: [{ role: 'user', content: 'Hello' }], ...body }),
      })
    const word = {
      type: 'object',
      properties: { word: { type: 'string', pattern: '^[a-z]{9}$' } },
      required: ['word'],
    }
    const format = { type: 'json_schema', json_schema: { name: 'word', schema: word } }
    for (const body of [{ messages: [{ role: 'user', content: long }] }, { response_format: format }]) {
      expect((await post(body)).status).toBe(200)
    }
  } finally {
    await server.stop()
    folder.remove()
  }
})
