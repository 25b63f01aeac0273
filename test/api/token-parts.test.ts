// A long text is counted and split part by part: its parts have together the tokens of the whole.
import { afterAll, describe, expect } from 'bun:test'
import fc from 'fast-check'
import { precountTokens, presplitText } from '../../src/answers/precount-tokens.ts'
import { cacheTokenChunks, countCached, hasTokenChunks, splitPlan, tokenChunks } from '../../src/answers/text-answer.ts'
import { splitByWords } from '../../src/lib/token-parts.ts'
import { countTokens, encodeTokens, splitTokens } from '../../src/lib/tokens.ts'
import { packTexts, unpackTexts } from '../../src/workers/packed-texts.ts'
import { endWorkers } from '../../src/workers/pool.ts'
import { type Answer, eventsOf, testApps } from '../support/app.ts'
import { character } from '../support/arbitrary.ts'
import { property, test } from '../support/property.ts'
import { emptyFolder } from '../support/server.ts'

const { appWith, close } = testApps()
afterAll(async () => {
  await close()
  endWorkers()
})
const CHAT = '/v2/router/chat/completions'
const { signal } = new AbortController()
/** Words and what stands between them, most of which no token reaches over. */
const texts = fc
  .array(
    fc.oneof(fc.constantFrom(' ', '  ', '\n', ' \n ', "'s", ' It’s', '漢字', '😀', '𝒜', '.', '12 34'), fc.string()),
    {
      maxLength: 60,
    },
  )
  .map((parts) => parts.join(' a word'))

property('property: text parts have the tokens of the whole and join to it', () => {
  fc.assert(
    fc.property(texts, fc.integer({ min: 1, max: 40 }), (text, size) => {
      const parts = splitByWords(text, size)
      expect(parts.join('')).toBe(text)
      expect(parts.flatMap(encodeTokens)).toEqual(encodeTokens(text))
    }),
  )
})

test('splitByWords: cuts words into parts of the requested size, and a text without spaces only if it is very long', () => {
  const words = 'some words '.repeat(1_000)
  expect(Math.max(...splitByWords(words, 1_000).map(({ length }) => length))).toBeLessThanOrEqual(1_500)
  expect(splitByWords('word'.repeat(1_000), 1_000)).toHaveLength(1)
  // Each part keeps a worker busy for a second or two.
  const parts = splitByWords('漢字😀'.repeat(300_001), 200_000)
  expect(parts.join('')).toBe('漢字😀'.repeat(300_001))
  expect(Math.max(...parts.map(({ length }) => length))).toBeLessThanOrEqual(400_000)
  expect(parts.every((part) => part.isWellFormed())).toBe(true)
})

property('packed texts: are the same when unpacked', () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: character })), (list) => {
      expect(unpackTexts(packTexts(list))).toEqual(list)
    }),
  )
})

const long = (name: string) => `${name} went down to the sea to look at ships, `.repeat(12_000)

test('precomputed token counts and splits: equal direct ones', async () => {
  const one = long('Ada')
  const counted = [one, 'short', long('Bob')]
  await precountTokens((count) => counted.map(count), signal)
  expect(counted.map(countCached)).toEqual(counted.map(countTokens))
})

const sumOf = (all: readonly { tokens: number }[]) => all.reduce((sum, { tokens }) => sum + tokens, 0)

test('very long text: is split into chunks of several tokens, precomputed or not', async () => {
  const text = long('Hal')
  const { parts, each } = splitPlan(text)
  await presplitText([text], { signal })
  const found = tokenChunks(text)
  expect(found).toEqual(parts.flatMap((part) => splitTokens(part, each)))
  expect(found.length).toBeLessThan(80_000)
  expect(found.map((piece) => piece.text).join('')).toBe(text)
  expect(sumOf(found)).toBe(countTokens(text))
  expect(tokenChunks('Ada went down to the sea')).toEqual(splitTokens('Ada went down to the sea'))
})

test('very long text: keeps its chunks, even if it is as long as a request can be', () => {
  const text = 'x'.repeat(32 * 2 ** 20)
  cacheTokenChunks(text, Array(80_000).fill({ text: 'x', tokens: 1 }))
  expect(hasTokenChunks(text)).toBe(true)
})

describe('very long response', () => {
  const reply = long('Ida')
  const folder = emptyFolder()
  Bun.write(
    `${folder.path}/chat.completions/long.json`,
    JSON.stringify({ match: { user: 'Tell' }, reply: { content: reply } }),
  )
  afterAll(folder.remove)
  const ask = (more: object) =>
    appWith({ fixtures: [folder.path] }).post(CHAT, {
      model: 'openai/some-model',
      messages: [{ role: 'user', content: 'Tell' }],
      ...more,
    })
  const textOf = (answer: Answer) => {
    const { choices, usage } = answer.json() as {
      choices: { message: { content: string }; finish_reason: string }[]
      usage: { completion_tokens: number }
    }
    return { text: choices[0]?.message.content, finish: choices[0]?.finish_reason, tokens: usage.completion_tokens }
  }

  test('is complete when whole', async () => {
    expect(textOf(await ask({}))).toEqual({ text: reply, finish: 'stop', tokens: countTokens(reply) })
  })
  test('is complete when streamed', async () => {
    const answer = await ask({ stream: true })
    const chunks = eventsOf(answer.text).slice(0, -1) as { choices: { delta: { content?: string } }[] }[]
    expect(answer.status).toBe(200)
    expect(chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join('')).toBe(reply)
  })
  test.each([100_003, 7])('ends at exactly %d tokens', async (most) => {
    const found = textOf(await ask({ max_completion_tokens: most }))
    expect(found).toEqual({ text: expect.any(String), finish: 'length', tokens: most })
    expect(reply.startsWith(found.text ?? 'nothing')).toBe(true)
    expect(countTokens(found.text ?? '')).toBe(most)
  })
  test('ends before a stop sequence', async () => {
    const stop = reply.slice(-40)
    const found = textOf(await ask({ stop: ['nowhere', stop] }))
    expect(found).toMatchObject({ text: reply.slice(0, reply.indexOf(stop)), finish: 'stop' })
  })
})

test('message of several long parts: counts as one text', async () => {
  const app = appWith()
  const ask = async (content: unknown) => {
    const answer = await app.post(CHAT, { model: 'openai/some-model', messages: [{ role: 'user', content }] })
    return (answer.json() as { usage: { prompt_tokens: number } }).usage.prompt_tokens
  }
  const [first, second] = [long('Cleo'), long('Dora')]
  const parts = [first, second].map((text) => ({ type: 'text', text }))
  expect(await ask(parts)).toBe(countTokens(first + second) + 7)
})

test('precomputed counting: stops when its caller has gone', async () => {
  const leaving = new AbortController()
  const counting = precountTokens((count) => void count(`${long('Eve')} ${long('Fay')}`), leaving.signal)
  leaving.abort(new Error('gone'))
  await expect(counting).rejects.toThrow('gone')
})
