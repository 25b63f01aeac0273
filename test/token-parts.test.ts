// A long text is counted and split part by part: its parts have together the tokens of the whole.
import { afterAll, expect, test } from 'bun:test'
import fc from 'fast-check'
import { countAhead, splitAhead } from '../src/answers/count-ahead.ts'
import { countCached, pieces } from '../src/answers/text-answer.ts'
import { splitAtWords } from '../src/lib/token-parts.ts'
import { countTokens, encodeTokens, splitTokens } from '../src/lib/tokens.ts'
import { packTexts, unpackTexts } from '../src/lib/worker/packed-texts.ts'
import { endWorkers } from '../src/lib/worker/pool.ts'
import { testApps } from './support/app.ts'

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

test('parts have the tokens of the whole, and join to it', () => {
  fc.assert(
    fc.property(texts, fc.integer({ min: 1, max: 40 }), (text, size) => {
      const parts = splitAtWords(text, size)
      expect(parts.join('')).toBe(text)
      expect(parts.flatMap(encodeTokens)).toEqual(encodeTokens(text))
    }),
  )
})

test('a text of words is cut into parts of the size asked for, one without spaces is not', () => {
  const words = 'some words '.repeat(1_000)
  expect(Math.max(...splitAtWords(words, 1_000).map(({ length }) => length))).toBeLessThanOrEqual(1_500)
  expect(splitAtWords('word'.repeat(1_000), 1_000)).toHaveLength(1)
})

test('texts are the same when they have been packed', () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: 'binary' })), (list) => {
      expect(unpackTexts(packTexts(list))).toEqual(list)
    }),
  )
})

const long = (name: string) => `${name} went down to the sea to look at ships, `.repeat(12_000)

test('what is counted and split ahead is what is counted and split at once', async () => {
  const one = long('Ada')
  const counted = [one, 'short', long('Bob')]
  await countAhead(() => counted.map(countCached), signal)
  expect(counted.map(countCached)).toEqual(counted.map(countTokens))
  const whole = splitTokens(one)
  await splitAhead([one], signal)
  expect(pieces(one)).toEqual(whole)
})

test('a message of several long parts counts as one text', async () => {
  const app = appWith()
  const ask = async (content: unknown) => {
    const answer = await app.post(CHAT, { model: 'openai/some-model', messages: [{ role: 'user', content }] })
    return (answer.json() as { usage: { prompt_tokens: number } }).usage.prompt_tokens
  }
  const [first, second] = [long('Cleo'), long('Dora')]
  const parts = [first, second].map((text) => ({ type: 'text', text }))
  expect(await ask(parts)).toBe(countTokens(first + second) + 7)
})

test('nothing more is begun when nobody waits any more', async () => {
  const leaving = new AbortController()
  const counting = countAhead(() => void countCached(`${long('Eve')} ${long('Fay')}`), leaving.signal)
  leaving.abort(new Error('gone'))
  await expect(counting).rejects.toThrow('gone')
})
