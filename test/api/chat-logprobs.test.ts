// Log probabilities: one entry a token, with the requested number of alternatives, the same for the same response.
import { afterAll, describe, expect, test } from 'bun:test'
import { createTestApp } from '../support/app.ts'
import { both, FIXTURES, refused, streamed, user, whole } from '../support/chat.ts'

const app = createTestApp({ fixtures: [FIXTURES] })
afterAll(app.close)

const bytesOf = (text: string) => [...new TextEncoder().encode(text)]
const sumOf = (numbers: number[]) => numbers.reduce((sum, value) => sum + value, 0)

test.each([0, 1, 5, 20])(
  'top_logprobs %p: returns each token with its likeliest alternatives',
  async (top_logprobs) => {
    for (const question of ['count', 'greek', 'What is up?']) {
      const { choices, usage } = await both(app, { logprobs: true, top_logprobs, ...user(question) })
      const { message, logprobs } = choices[0] ?? {}
      const tokens = logprobs?.content ?? []
      expect(tokens.map(({ token }) => token).join('')).toBe(message?.content ?? '')
      expect(tokens.flatMap(({ bytes }) => bytes)).toEqual(bytesOf(message?.content ?? ''))
      expect(tokens.length).toBeLessThanOrEqual(usage.completion_tokens)
      expect(logprobs?.refusal).toBeNull()
      for (const { token, logprob, bytes, top_logprobs: top } of tokens) {
        expect(bytes).toEqual(bytesOf(token))
        expect(top).toHaveLength(top_logprobs)
        if (top.length === 0) continue
        expect(top[0]).toEqual({ token, logprob, bytes })
        expect(top.map((one) => one.logprob)).toEqual(top.map((one) => one.logprob).sort((a, b) => b - a))
        expect(new Set(top.map((one) => one.token)).size).toBe(top.length)
        expect(sumOf(top.map((one) => Math.exp(one.logprob)))).toBeLessThanOrEqual(1 + 1e-6)
      }
      expect(new Set(tokens.map(({ logprob }) => logprob)).size).toBeGreaterThan(tokens.length / 2)
    }
  },
)

test.each([undefined, null, false])('logprobs %p: returns no log probabilities', async (logprobs) => {
  const { choices } = await both(app, { logprobs })
  expect(choices[0]?.logprobs).toBeNull()
})

test('logprobs: have no alternatives without top_logprobs', async () => {
  const { choices } = await both(app, { logprobs: true, ...user('count') })
  expect(choices[0]?.logprobs?.content?.map(({ top_logprobs }) => top_logprobs)).toEqual(Array(8).fill([]))
})

test('logprobs of a refusal: cover the refusal', async () => {
  const { choices } = await both(app, { logprobs: true, top_logprobs: 2, ...user('no way') })
  expect(choices[0]?.logprobs?.content).toBeNull()
  expect(choices[0]?.logprobs?.refusal?.map(({ token }) => token)).toEqual(['No', '.'])
})

test('logprobs of an audio response: are null', async () => {
  const audio = { voice: 'echo', format: 'pcm16' }
  const { choices } = await both(app, { logprobs: true, modalities: ['text', 'audio'], audio, ...user('count') })
  expect(choices[0]?.logprobs).toEqual({ content: null, refusal: null })
})

test('logprobs of a chunk: cover its own token', async () => {
  const { chunks } = await streamed(app, { logprobs: true, top_logprobs: 1, ...user('count') })
  const said = chunks.filter(({ choices }) => choices[0]?.delta.content)
  expect(said).toHaveLength(8)
  for (const { choices } of said) {
    const { delta, logprobs } = choices[0] ?? {}
    expect(logprobs?.content?.map(({ token }) => token)).toEqual([delta?.content ?? ''])
  }
})

test('logprobs: are equal for equal calls and cover only the remaining tokens of a cut response', async () => {
  const tokensOf = async (patch: object) =>
    (await whole(app, { logprobs: true, ...user('count'), ...patch })).completion.choices[0]?.logprobs?.content
  const tokens = await tokensOf({})
  expect(await tokensOf({})).toEqual(tokens ?? [])
  expect((await tokensOf({ max_tokens: 3 }))?.map(({ token }) => token)).toEqual(['one', ' two', ' three'])
  expect(await tokensOf({ model: 'openai/gpt-4.1' })).not.toEqual(tokens ?? [])
})

describe('top_logprobs', () => {
  test.each([undefined, null, false])('requires logprobs, not %p', async (logprobs) => {
    for (const top_logprobs of [0, 3]) {
      const error = await refused(app, { logprobs, top_logprobs })
      expect(error).toMatchObject({ param: 'top_logprobs', message: expect.stringContaining("'logprobs'") })
    }
  })
  test.each([-1, 21, 1.5, '3'])('must be a whole number from 0 to 20, not %p', async (top_logprobs) => {
    expect((await refused(app, { logprobs: true, top_logprobs })).param).toBe('top_logprobs')
  })
})
