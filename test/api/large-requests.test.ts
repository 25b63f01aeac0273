// Large requests are answered as small ones are, though their work is done in workers and in slices.
import { afterAll, describe, expect, test } from 'bun:test'
import { embedInWorker, isLongWork } from '../../src/answers/vectors.ts'
import { answerVector, encodeVector } from '../../src/lib/embedding.ts'
import { inSlices } from '../../src/lib/slices.ts'
import { endWorkers, workerCounts } from '../../src/workers/pool.ts'
import { testApps } from '../support/app.ts'

const { appWith, close } = testApps()
afterAll(async () => {
  await close()
  endWorkers()
})

const EMBEDDINGS = '/v2/router/embeddings'
const CHAT = '/v2/router/chat/completions'
const model = 'openai/text-embedding-3-small'
const texts = Array.from({ length: 40 }, (_, index) => `${index} quick brown foxes jump over the lazy dog. `.repeat(20))

describe('embeddings of many texts', () => {
  for (const encoding_format of ['float', 'base64'] as const) {
    test(`equal those of each text alone (${encoding_format})`, async () => {
      expect(isLongWork(texts)).toBe(true)
      const app = appWith()
      const ask = (input: unknown) => app.post(EMBEDDINGS, { model, input, encoding_format })
      const all = await ask(texts)
      const answer = all.json() as { data: object[]; usage: { prompt_tokens: number; total_tokens: number } }
      // To the byte what JSON makes of it, and what the trace keeps.
      expect(all.text).toBe(JSON.stringify(answer))
      const trace = await app.traceOf(all)
      expect(trace.response).toEqual(answer)
      expect(trace.duration_ms).toBe(0)
      let tokens = 0
      for (const [index, text] of texts.entries()) {
        expect(isLongWork([text])).toBe(false)
        const one = (await ask(text)).json() as typeof answer
        expect(Object.keys(answer)).toEqual(Object.keys(one))
        expect(answer.data[index]).toEqual({ ...one.data[0], index })
        tokens += one.usage.prompt_tokens
      }
      expect(answer.usage).toEqual({ prompt_tokens: tokens, total_tokens: tokens })
    })
  }

  test('let other calls be answered first', async () => {
    const app = appWith()
    const done: string[] = []
    const post = async (name: string, path: string, body: object) => {
      expect((await app.post(path, body)).status).toBe(200)
      done.push(name)
    }
    const messages = [{ role: 'user', content: 'Hello' }]
    await Promise.all([
      post('embeddings', EMBEDDINGS, { model, input: texts }),
      post('chat', CHAT, { model: 'openai/gpt-4.1', messages }),
    ])
    expect(done).toEqual(['chat', 'embeddings'])
  })

  test('keep their order, however long each text is', async () => {
    const mixed = ['short', 'long '.repeat(9_000), '', ...texts, 'last']
    const how = { dimensions: 32, encoding: 'float' } as const
    const items = await embedInWorker(mixed, { ...how, signal: new AbortController().signal })
    expect(items.map(({ embedding }) => embedding)).toEqual(
      mixed.map((text) => encodeVector(answerVector(text, how.dimensions), how.encoding)),
    )
    for (const { embedding, json } of items) expect(json).toBe(JSON.stringify(embedding))
  })

  test('are unchanged from the cache', async () => {
    const app = appWith()
    const ask = () => app.post(EMBEDDINGS, { model, input: texts, cache: { type: 'exact_match', ttl: 60 } })
    const first = await ask()
    const second = await ask()
    expect([first, second].map(({ headers }) => headers.get('x-understudy-cache'))).toEqual(['miss', 'hit'])
    expect(second.text).toBe(first.text)
  })
})

test('request with many messages: counts the tokens of all of them', async () => {
  const app = appWith()
  const tokensOf = async (contents: readonly string[]) => {
    const messages = contents.map((content, index) => ({ role: index % 2 ? 'assistant' : 'user', content }))
    const answer = await app.post(CHAT, { model: 'openai/gpt-4.1', messages })
    expect(answer.status).toBe(200)
    return (answer.json() as { usage: { prompt_tokens: number } }).usage.prompt_tokens
  }
  const contents = Array.from({ length: 12_000 }, (_, index) => `Message ${index % 500} tells of a day at the sea.`)
  const [none, one] = [await tokensOf(['']), await tokensOf(contents.slice(0, 1))]
  const total = await tokensOf(contents)
  // Every number below 1,000 is one token, so that all messages count the same.
  expect(total).toBe(none + (one - none) * contents.length + (none - 3) * (contents.length - 1))
})

test('slices: let other work run between them', async () => {
  const seen: number[] = []
  let between = 0
  setImmediate(() => between++)
  await inSlices([1, 2, 3], (item) => {
    const until = performance.now() + 11
    while (performance.now() < until);
    seen.push(item)
  })
  expect(seen).toEqual([1, 2, 3])
  expect(between).toBe(1)
})

describe('body with many items', () => {
  const items = (role: string) =>
    Array.from({ length: 3_000 }, (_, index) => ({ role, content: `${index} tells of a day at the sea. `.repeat(10) }))
  const cases = [
    ['messages', CHAT, 'user'],
    ['input', '/v2/router/responses', 'user'],
  ] as const
  for (const [field, path, role] of cases) {
    const ask = (list: unknown, more: object = {}) =>
      appWith().post(path, { model: 'openai/some-model', [field]: list, ...more })
    const errorOf = async (list: unknown, more?: object) => {
      const answer = await ask(list, more)
      expect(answer.status).toBe(400)
      return (answer.json() as { error: { message: string; param: string } }).error
    }
    test(`is validated as a whole (${field})`, async () => {
      expect((await ask(items(role))).status).toBe(200)
      const wrong: [number, object, string][] = [
        [0, { role: 'nobody', content: 'x' }, 'role'],
        [499, { role: 'user', content: 7 }, 'content'],
        [500, { role: 'user', content: 7 }, 'content'],
        [2_999, { role: 'user', content: [{ type: 'none' }] }, 'content'],
      ]
      for (const [place, item, at] of wrong) {
        const found = await errorOf(items(role).with(place, item as never))
        const alone = await errorOf([item])
        expect(found.param).toBe(alone.param.replace(`${field}[0]`, `${field}[${place}]`))
        expect(found.message).toBe(alone.message.replace(`'${alone.param}'`, `'${found.param}'`))
        expect(found.param).toContain(at)
      }
      expect((await errorOf(items(role), { temperature: 'hot' })).param).toBe('temperature')
    })
    test(`is in the trace as received (${field})`, async () => {
      const app = appWith()
      const body = { model: 'openai/some-model', [field]: items(role) }
      const answer = await app.post(path, body)
      expect((await app.traceOf(answer)).request).toEqual(body)
    })
  }
})

test('embeddings in a worker: stop when the caller has gone', async () => {
  const leaving = new AbortController()
  const many = Array.from({ length: 20 }, () => texts).flat()
  const work = embedInWorker(many, { dimensions: 32, encoding: 'float', signal: leaving.signal })
  leaving.abort(new Error('gone'))
  await expect(work).rejects.toThrow('gone')
  expect(workerCounts().jobs).toBeLessThanOrEqual(2)
})
