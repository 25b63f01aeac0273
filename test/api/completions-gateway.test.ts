// The gateway with legacy completions and embeddings: repeated from the cache, read from a provider, given context.
import { afterAll, expect, test } from 'bun:test'
import { encode } from 'gpt-tokenizer/encoding/cl100k_base'
import type { RenderedAnswer } from '../../src/contract/core/operation.ts'
import type { CompletionRequest } from '../../src/contract/router/completions.ts'
import { completions } from '../../src/endpoints/completions.ts'
import { embeddings } from '../../src/endpoints/embeddings.ts'
import type { EventData } from '../../src/lib/sse.ts'
import { type Answer, createTestApp, eventsOf } from '../support/app.ts'
import { strictCompletion } from '../support/strict/completions.ts'

const INSTRUCT = 'openai/gpt-3.5-turbo-instruct'
const PATH = '/v2/router/completions'
const app = createTestApp()
afterAll(app.close)

const cache = { type: 'exact_match', ttl: 60 }
const heard = ({ headers }: Answer) => headers.get('x-understudy-cache')

test('completion cache: returns the same completion, whole and streamed, under a new id', async () => {
  const body = { model: INSTRUCT, prompt: ['Roses are', 'Violets are'], n: 2, cache }
  const made = await app.post(PATH, body)
  const whole = await app.post(PATH, body)
  const streamed = await app.post(PATH, { ...body, stream: true, stream_options: { include_usage: true } })
  expect([made, whole, streamed].map(heard)).toEqual(['miss', 'hit', 'hit'])
  const [first, second] = [made, whole].map((answer) => strictCompletion(answer.json()))
  expect(second).toEqual({ ...first, id: expect.any(String), created: expect.any(Number) } as never)
  expect(second?.id).not.toBe(first?.id as string)
  const chunks = eventsOf(streamed.text).slice(0, -1).map(strictCompletion)
  const texts = first?.choices.map(({ index }) =>
    chunks
      .flatMap(({ choices }) => choices)
      .filter((part) => part.index === index)
      .reduce((text, part) => text + part.text, ''),
  )
  expect(texts).toEqual(first?.choices.map(({ text }) => text))
  expect(chunks.at(-1)?.usage).toEqual(first?.usage)
})

test('completion cache: returns a streamed completion as a whole one, with its usage', async () => {
  const body = { model: INSTRUCT, prompt: 'Sugar is sweet', cache }
  const streamed = await app.post(PATH, { ...body, stream: true })
  const whole = await app.post(PATH, body)
  expect([streamed, whole].map(heard)).toEqual(['miss', 'hit'])
  const { choices, usage } = strictCompletion(whole.json())
  expect(choices[0]).toMatchObject({ finish_reason: 'length', text: expect.stringContaining('generated') })
  expect(usage).toMatchObject({ completion_tokens: 16 })
})

test('embedding cache: keeps formats apart and returns vectors unchanged', async () => {
  const body = { model: 'openai/text-embedding-3-small', input: 'Hello', dimensions: 4, cache }
  const calls = [{}, {}, { encoding_format: 'base64' }, { dimensions: 5 }]
  const answers: Answer[] = []
  for (const more of calls) answers.push(await app.post('/v2/router/embeddings', { ...body, ...more }))
  expect(answers.map(heard)).toEqual(['miss', 'hit', 'miss', 'miss'])
  expect(answers[1]?.text).toBe(answers[0]?.text as string)
})

test('completion tokens: are those of the model that the balancer picks', async () => {
  const answer = await app.post(PATH, {
    model: 'ollama/x',
    prompt: encode('Grüße'),
    echo: true,
    max_tokens: 0,
    load_balancer: { type: 'weight_based', models: [{ model: INSTRUCT, weight: 1 }] },
  })
  expect(strictCompletion(answer.json()).choices[0]?.text).toBe('Grüße')
})

const chunk = (index: number, text: string, reason: string | null, own?: string): EventData => ({
  data: {
    id: 'x',
    model: 'm',
    choices: [{ index, text, finish_reason: reason }],
    ...(own && { system_fingerprint: own }),
  },
})
const ours = (
  completions.compose({ model: INSTRUCT, prompt: 'x', n: 2 } as CompletionRequest, { content: ' one two' }, {
    model: INSTRUCT,
    answerContext: { id: '1', now: 0, secret: '' },
  } as never) as RenderedAnswer
).events()

test.each<[what: string, events: readonly EventData[], complete: boolean]>([
  ['no events', [], false],
  [
    'a provider that sends the finish reason with its last text',
    [chunk(0, ' one', null), chunk(0, ' two', 'length')],
    true,
  ],
  ['a provider that sends everything at once', [chunk(0, ' one', 'length', 'fp_x')], true],
  ['a provider that ends with an empty text', [chunk(0, ' one', null), chunk(0, '', 'stop')], true],
  ['a provider that stopped early', [chunk(0, ' one', null)], false],
  ['a provider that stopped early in one of two choices', [chunk(0, ' one', 'stop'), chunk(1, ' one', null)], false],
  ['a generated stream', ours, true],
  ['a generated stream without its last chunk', ours.slice(0, -1), false],
  ['the beginning of a generated stream', ours.slice(0, 2), false],
])('completion stream: is judged complete or not for %s', (_, events, complete) => {
  expect(completions.events?.complete(events)).toBe(complete)
})

test('completion and embedding checks: tell a valid response from an invalid one', () => {
  const choice = { index: 0, text: '', finish_reason: 'stop' }
  expect(completions.wrongWith?.({ choices: [choice] })).toBeUndefined()
  expect(completions.wrongWith?.({ choices: [] })).toContain("'choices'")
  expect(completions.wrongWith?.({ choices: [choice, { index: 1, text: '' }] })).toContain('choices[1]')
  expect(completions.events?.wrongWith({ detail: 'x' })).toContain("'choices'")
  expect(completions.events?.hasContent({ choices: [{ text: '' }] })).toBe(false)
  expect(completions.events?.hasContent({ choices: [{ text: 'a' }] })).toBe(true)
  expect(embeddings.wrongWith?.({ data: [] })).toContain("'data'")
  expect(embeddings.wrongWith?.({ data: [{ embedding: [1] }] })).toBeUndefined()
})

test('completion context: is put before each prompt, tokens included', () => {
  const request = { model: INSTRUCT, prompt: [encode('What opens?'), encode('When?')] } as CompletionRequest
  const { prompt } = completions.addContext?.(request, 'The shop opens at nine.') ?? {}
  expect(prompt).toEqual(
    ['What opens?', 'When?'].map((text) => `Use this context:\n\nThe shop opens at nine.\n\n${text}`),
  )
})
