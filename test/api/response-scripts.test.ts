// The inverse of a response: as the reply of a fixture it gives the same response again, for all six operations.
import { afterAll, describe, expect } from 'bun:test'
import fc from 'fast-check'
import { asTemplate, fill } from '../../src/answers/template.ts'
import { assembled } from '../../src/contract/core/assembly.ts'
import { allOperations } from '../../src/endpoints/index.ts'
import { createTestApp, eventsOf } from '../support/app.ts'
import { property, runs, test } from '../support/property.ts'
import { fileOf, formOf, speak } from '../support/translations.ts'

const app = createTestApp()
afterAll(app.close)
const operations = allOperations()
const operationOf = (name: string) => {
  const found = operations.find((one) => one.name === name)
  if (!found) throw new Error(`there is no operation ${name}`)
  return found
}
const talk = fileOf(await speak('mp3'), 'talk.mp3')

type Json = Record<string, unknown>
let sessions = 0

/** The answer of a session whose one fixture has this reply. */
async function answerTo(operation: string, body: Json, reply: unknown): Promise<unknown> {
  const { text, stream } = await textTo(operation, body, reply)
  return stream ? eventsOf(text) : JSON.parse(text)
}

async function textTo(operation: string, body: Json, reply: unknown): Promise<{ text: string; stream: boolean }> {
  const name = `inverse-${++sessions}`
  const made = await app.post('/_understudy/sessions', { name, fixtures: [{ match: { operation }, reply }] })
  expect({ status: made.status, text: made.text }).toEqual({ status: 200, text: expect.any(String) })
  const path = `/s/${name}${operationOf(operation).path}`
  const answer =
    operationOf(operation).body === 'multipart'
      ? await app.fetch(path, { method: 'POST', body: formOf({ ...body, file: talk }) })
      : await app.post(path, body)
  expect({ status: answer.status, text: answer.text }).toEqual({ status: 200, text: expect.any(String) })
  expect(answer.headers.get('x-understudy-fixture')).not.toBe('generated')
  const removed = await app.fetch(`/_understudy/sessions/${name}`, { method: 'DELETE' })
  expect(removed.status).toBeLessThan(300)
  return { text: answer.text, stream: body.stream === true }
}

/** An answer without what belongs to one call: names and times. */
const content = (answer: unknown): unknown =>
  JSON.parse(
    JSON.stringify(answer, (key, value) =>
      key === 'created' || key === 'created_at' || key === 'expires_at' ? undefined : value,
    ).replaceAll(/"(?:chatcmpl-|cmpl-|audio_|resp_|(?:msg|rs|fc|ctc)_)[^"]*"/g, '"id"'),
  )

const text = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 30 }),
  fc.constantFrom('', '{{prompt.user}}', '{{{x}}}', '\n{{#a}}\n', 'a {{', '}} {{=<% %>=}}', '{"a": 1}', 'Hi there.'),
)
const some = text.filter((one) => one !== '')
const count = fc.integer({ min: 0, max: 1_000 })
const usage = fc.record({ prompt_tokens: count, completion_tokens: count }, { requiredKeys: [] })
const args = fc.oneof(
  fc.dictionary(fc.stringMatching(/^[a-z]{1,4}$/), fc.jsonValue({ maxDepth: 1 }), { maxKeys: 3 }),
  fc.constantFrom('{ "a" : 1 }', 'no json', '[1]', '5', ''),
)
const call = fc.record(
  { name: fc.constantFrom('weather', 'sh'), arguments: args, id: fc.stringMatching(/^call_[a-z]{3}$/) },
  { requiredKeys: ['name'] },
)
const reply = fc.record(
  {
    content: text,
    refusal: some,
    reasoning: some,
    tool_calls: fc.array(call, { maxLength: 3 }),
    finish_reason: fc.constantFrom('stop', 'length', 'content_filter'),
    usage,
  },
  { requiredKeys: ['tool_calls'] },
)
// Calls that have an id have it in every choice.
const named = reply.map(({ tool_calls: calls, ...one }) => ({
  ...one,
  ...(calls && { tool_calls: calls.map((each, index) => ({ ...each, id: `call_${index}` })) }),
}))
// As 32 bits hold them; JSON has no negative nothing.
const number = fc.double({ min: -1, max: 1, noNaN: true, noDefaultInfinity: true }).map((one) => Math.fround(one) || 0)
const vector = fc.array(number, { minLength: 1, maxLength: 4 })
const PNG = Buffer.from(
  '89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d49444154789c6360606060000000050001a5f645400000000049454e44ae426082',
  'hex',
).toString('base64')
const sentence = fc.constantFrom('Good morning.', 'A <b> & c.', 'See you.', 'Is it 1 --> 2?')
const segment = fc.record({ text: sentence, speaker: fc.constantFrom('a', 'b') }, { requiredKeys: ['text'] })

const chat = { model: 'openai/gpt-4o', messages: [{ role: 'user', content: 'Hi' }] }
const tools = [
  { type: 'function', function: { name: 'weather' } },
  { type: 'custom', custom: { name: 'sh' } },
]
const response = { model: 'openai/gpt-4o', input: 'Hi', reasoning: { summary: 'auto' } }
const audio = { model: 'openai/whisper-1' }
const image = { model: 'openai/gpt-image-1', prompt: 'x', size: '1024x1024' }
const ROWS: [string, string, Json, fc.Arbitrary<unknown>][] = [
  ['a chat completion', 'chat.completions', chat, reply],
  ['a chat completion that is cut', 'chat.completions', { ...chat, max_tokens: 4 }, reply],
  ['a chat completion with custom tools', 'chat.completions', { ...chat, tools }, reply],
  ['a chat completion of several choices', 'chat.completions', { ...chat, n: 3 }, named],
  ['a model response', 'responses', response, reply],
  [
    'completions of several prompts',
    'completions',
    { model: 'openai/gpt-3.5-turbo-instruct', prompt: ['a', 'b'], max_tokens: 500 },
    fc.record(
      { content: fc.oneof(text, fc.array(text, { minLength: 1, maxLength: 2 })), usage },
      { requiredKeys: ['content'] },
    ),
  ],
  [
    'embeddings',
    'embeddings',
    { model: 'openai/text-embedding-3-small', input: ['a', 'b'] },
    fc.record({ embeddings: fc.array(vector, { minLength: 1, maxLength: 2 }) }),
  ],
  [
    'embeddings as base64',
    'embeddings',
    { model: 'openai/text-embedding-3-small', input: 'a', encoding_format: 'base64' },
    fc.record({ embedding: vector, usage: fc.record({ prompt_tokens: count }) }),
  ],
  [
    'images',
    'images.generations',
    { ...image, n: 2 },
    fc.constantFrom({ images: [PNG] }, { images: [PNG], usage: { input_tokens: 3 } }),
  ],
  ...(['json', 'text', 'srt', 'vtt', 'verbose_json'] as const).flatMap(
    (format): [string, string, Json, fc.Arbitrary<unknown>][] => [
      [
        `a translation as ${format}`,
        'audio.translations',
        { ...audio, response_format: format },
        fc.record({ segments: fc.array(segment, { minLength: 1, maxLength: 3 }) }),
      ],
      [
        `a translation as ${format} with speakers`,
        'audio.translations',
        { ...audio, response_format: format, diarize: true },
        fc.record({
          segments: fc
            .array(segment, { minLength: 1, maxLength: 3 })
            .map((all) => all.map((one, index) => ({ ...one, speaker: `${index % 2}` }))),
        }),
      ],
    ],
  ),
]

describe('response from the script of a response', () => {
  property.each(ROWS)('is the same for %s', (_, name, body, scripts) =>
    fc.assert(
      fc.asyncProperty(scripts, async (script) => {
        const first = await answerTo(name, body, asTemplate(script))
        const inverse = operationOf(name).scriptOf(first)
        expect(inverse).toBeDefined()
        expect(content(await answerTo(name, body, asTemplate(inverse)))).toEqual(content(first))
      }),
      { numRuns: runs(8) },
    ),
  )
})

describe('stream from the script of a stream', () => {
  property.each(ROWS.filter(([, name, { n }]) => operationOf(name).events && !n))(
    'is the same for %s',
    (_, name, body, scripts) => {
      const operation = operationOf(name)
      const usage = name === 'responses' ? {} : { stream_options: { include_usage: true } }
      const streamed = { ...body, ...usage, stream: true }
      return fc.assert(
        fc.asyncProperty(scripts, async (script) => {
          const first = (await answerTo(name, streamed, asTemplate(script))) as unknown[]
          const chunks = first.filter((data) => data !== '[DONE]').map((data) => ({ data }))
          const inverse = operation.scriptOf(operation.assembly && assembled(operation.assembly(), chunks))
          expect(content(await answerTo(name, streamed, asTemplate(inverse)))).toEqual(content(first))
        }),
        { numRuns: runs(4) },
      )
    },
  )
})

test('script of generated images: returns the same images with the revised prompt', async () => {
  const body = { model: 'openai/dall-e-3', prompt: 'A lighthouse', response_format: 'b64_json' }
  const first = await answerTo('images.generations', body, {})
  const script = operationOf('images.generations').scriptOf(first)
  expect(Object.keys(script as Json)).toEqual(['images', 'revised_prompt'])
  expect(content(await answerTo('images.generations', body, script))).toEqual(content(first))
})

test('script: contains only what is necessary', () => {
  const message = { role: 'assistant', content: 'Hi', refusal: null }
  const answer = { choices: [{ index: 0, message, finish_reason: 'stop' }] }
  expect(operationOf('chat.completions').scriptOf(answer)).toEqual({ content: 'Hi' })
  const called = { function: { name: 'f', arguments: '{"a":1}' }, id: 'c', type: 'function' }
  const calling = { choices: [{ message: { content: null, tool_calls: [called] }, finish_reason: 'tool_calls' }] }
  expect(operationOf('chat.completions').scriptOf(calling)).toEqual({
    tool_calls: [{ name: 'f', arguments: { a: 1 }, id: 'c' }],
  })
})

test('script: does not exist for an invalid response', () => {
  for (const operation of operations) {
    for (const value of [null, 5, [], {}, { choices: [null] }, { data: [{}] }, { output: 'x' }]) {
      expect({ name: operation.name, script: operation.scriptOf(value) }).toEqual({
        name: operation.name,
        script: undefined,
      })
    }
  }
})

property('script: escapes braces so that they are no templates', () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom('{', '}', '\n', 'a', '=', '<', '%', '>', '#', '/') }), (value) => {
      expect(fill(asTemplate({ content: [value] }), () => ({ a: 'wrong' }), undefined)).toEqual({ content: [value] })
    }),
    { numRuns: runs(1_000) },
  )
})

test('fixture generated from a call: returns the same text when that has braces in it', async () => {
  const says = 'Write {{prompt.user}} or {{{name}}} in a template.'
  const model = 'openai/gpt-4o'
  const body = { model, messages: [{ role: 'user', content: 'How do templates look?' }] }
  const reply = asTemplate({ content: says })
  await app.post('/_understudy/sessions', {
    name: 'braces',
    fixtures: [{ match: { operation: 'chat.completions' }, reply }],
  })
  const first = await app.post('/s/braces/v2/router/chat/completions', body)
  expect(first.json()).toMatchObject({ choices: [{ message: { content: says } }] })
  const id = first.headers.get('x-understudy-trace')
  const { fixture } = (await (await app.fetch(`/s/braces/_understudy/traces/${id}/reproduction`)).json()) as {
    fixture: { value: object }
  }
  await app.post('/_understudy/sessions', { name: 'braces-again', fixtures: [fixture.value] })
  const again = await app.post('/s/braces-again/v2/router/chat/completions', body)
  expect(again.json()).toMatchObject({ choices: [{ message: { content: says } }] })
})
