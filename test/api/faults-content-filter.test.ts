// content-filter: an error, or a response without content, whole and streamed, for each operation.
import { afterAll, expect, test } from 'bun:test'
import { createTestApp, eventsOf } from '../support/app.ts'
import { errorOf } from '../support/errors.ts'
import { playing } from '../support/scenario.ts'
import { strictChunk, strictCompletion } from '../support/strict/chat.ts'

const app = createTestApp()
afterAll(app.close)
const REASON = 'content_filter'
const rules = [{ fault: { type: 'content-filter' } }]

test.each([
  ['openai/gpt-4o', 200],
  ['google/gemini-2.5-pro', 200],
  ['azure/gpt-4o', 400],
  ['anthropic/claude-sonnet-4', 400],
  ['mistral/mistral-large', 403],
  ['cohere/command-r', 498],
])("content-filter of %s: is an error in the provider's own form, with %i", async (model, status) => {
  const { chat } = await playing(app, rules)
  const answer = await chat({ model })
  expect(answer.status).toBe(status)
  if (status === 200) expect(strictCompletion(answer.json()).choices[0]?.finish_reason).toBe(REASON)
  else expect(errorOf(answer.text, status).message).not.toBe('')
})

test.each(['provider', 'gateway'])('content-filter: ends a chat response without content at the %s', async (at) => {
  const { chat } = await playing(app, [{ at, fault: { type: 'content-filter', as: 'finish' } }])
  const patch = { model: 'azure/gpt-4o', n: 2 }
  const { choices, usage } = strictCompletion((await chat(patch)).json())
  expect(choices.map(({ message, finish_reason: reason }) => [message.content, reason])).toEqual([
    ['', REASON],
    ['', REASON],
  ])
  expect(usage?.prompt_tokens).toBeGreaterThan(0)
  const answer = await chat({ ...patch, stream: true, stream_options: { include_usage: true } })
  const events = eventsOf(answer.text)
  expect(events.pop()).toBe('[DONE]')
  const chunks = events.map(strictChunk)
  expect(
    chunks.flatMap((chunk) => chunk.choices.map(({ index, delta, finish_reason: reason }) => [index, delta, reason])),
  ).toEqual([
    [0, { role: 'assistant', content: '' }, null],
    [1, { role: 'assistant', content: '' }, null],
    [0, {}, REASON],
    [1, {}, REASON],
  ] as never)
  expect(chunks.at(-1)?.usage?.prompt_tokens).toBe(usage?.prompt_tokens)
  expect(await app.traceOf(answer)).toMatchObject({ outcome: 'succeeded', status: 200 })
})

test('content-filter: ends a completion without text', async () => {
  const { post } = await playing(app, rules)
  const body = { model: 'openai/gpt-3.5-turbo-instruct', prompt: 'Once upon' }
  const whole = (await post('/v2/router/completions', body)).json() as { choices: object[] }
  expect(whole.choices).toMatchObject([{ index: 0, text: '', finish_reason: REASON }])
  const chunks = eventsOf((await post('/v2/router/completions', { ...body, stream: true })).text).slice(0, -1)
  const choices = chunks.flatMap((chunk) => (chunk as { choices: { text: string; finish_reason: string }[] }).choices)
  expect(new Set(choices.map(({ text, finish_reason: reason }) => `${text}:${reason}`))).toEqual(
    new Set([`:${REASON}`]),
  )
})

test('content-filter: makes a response incomplete, without items', async () => {
  const { post } = await playing(app, rules)
  const body = { model: 'openai/gpt-4o', input: 'Hi' }
  const whole = (await post('/v2/router/responses', body)).json()
  const incomplete = { status: 'incomplete', incomplete_details: { reason: REASON }, output: [] }
  expect(whole).toMatchObject(incomplete)
  const answer = await post('/v2/router/responses', { ...body, stream: true })
  const events = eventsOf(answer.text).filter((event) => event !== '[DONE]') as {
    type: string
    sequence_number: number
  }[]
  expect(events.map(({ type, sequence_number: number }) => [type, number])).toEqual([
    ['response.created', 0],
    ['response.in_progress', 1],
    ['response.incomplete', 2],
  ])
  expect(events.at(-1)).toMatchObject({ response: incomplete })
  expect(answer.text).toContain('event: response.incomplete\n')
})

test('content-filter: is an error for operations without a finish reason', async () => {
  const { post } = await playing(app, rules)
  for (const [path, body] of [
    ['embeddings', { model: 'openai/text-embedding-3-small', input: 'Hi' }],
    ['images/generations', { model: 'openai/dall-e-3', prompt: 'A cat' }],
  ] as const) {
    const answer = await post(`/v2/router/${path}`, body)
    expect(errorOf(answer.text, 400).code).toBe('content_policy_violation')
  }
})
