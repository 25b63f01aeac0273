// A composed stream is written without being read again: its texts and its whole response are those that reading would give.
import { expect } from 'bun:test'
import fc from 'fast-check'
import { assembled } from '../../src/contract/core/assembly.ts'
import type { AttemptContext, RenderedAnswer } from '../../src/contract/core/operation.ts'
import type { ChatRequest } from '../../src/contract/router/chat-request.ts'
import type { TextScript } from '../../src/contract/router/script.ts'
import { composeChat } from '../../src/endpoints/chat/answer.ts'
import { chatAssembly } from '../../src/endpoints/chat/provider-answer.ts'
import { character } from '../support/arbitrary.ts'
import { property, runs, test } from '../support/property.ts'

const text = fc.oneof(fc.string(), fc.string({ unit: character }), fc.constantFrom('', 'two words', '"\\\n\u2028é😀'))
const call = fc.record(
  { name: fc.constantFrom('one', 'two'), arguments: text, input: text, id: text },
  { requiredKeys: ['name'] },
)
const scripts = fc.record(
  {
    content: text,
    reasoning: text,
    refusal: text,
    tool_calls: fc.array(call, { maxLength: 2 }),
    finish_reason: fc.constantFrom('stop', 'length', 'content_filter'),
  },
  { requiredKeys: [] },
)
const requests = fc.record(
  {
    n: fc.integer({ min: 1, max: 3 }),
    max_tokens: fc.integer({ min: 1, max: 6 }),
    logprobs: fc.boolean(),
    stop: fc.constantFrom('o', 'two', ' '),
    reasoning_effort: fc.constantFrom('none', 'high'),
    stream_options: fc.record({ include_usage: fc.boolean() }),
    functions: fc.constant([{ name: 'one' }]),
  },
  { requiredKeys: [] },
)

property('composed stream: has the whole response that reading its events gives', () => {
  const attempt = { model: 'openai/gpt-4o', answerContext: { id: 'ID', now: 0, keyValues: { get: () => undefined } } }
  let known = 0
  fc.assert(
    fc.property(requests, scripts, (given, script) => {
      const request = { model: 'openai/gpt-4o', messages: [{ role: 'user', content: 'Hi' }], stream: true, ...given }
      const composed = composeChat(
        request as ChatRequest,
        script as TextScript,
        attempt as unknown as AttemptContext,
      ) as RenderedAnswer
      const events = composed.events()
      for (const { text, data } of events) expect(text).toBe(JSON.stringify(data))
      if (!composed.streamed) return
      known++
      expect(JSON.stringify(composed.streamed())).toBe(JSON.stringify(assembled(chatAssembly(), events)))
    }),
    { seed: 5, numRuns: runs(2_000) },
  )
  expect(known).toBeGreaterThan(runs(500))
})

property('composed choice: is the same alone and beside another, cached or not', () => {
  const attempt = { model: 'openai/gpt-4o', answerContext: { id: 'ID', now: 0, keyValues: { get: () => undefined } } }
  const firstChoice = (request: object, script: TextScript) => {
    const asked = { model: 'openai/gpt-4o', messages: [{ role: 'user', content: 'Hi' }], stream: true, ...request }
    const context = attempt as unknown as AttemptContext
    const composed = composeChat(asked as ChatRequest, script, context) as RenderedAnswer
    const data = composed.events().map((event) => event.data as { choices: { index: number }[] })
    return data.filter(({ choices: [choice] }) => choice?.index === 0)
  }
  fc.assert(
    fc.property(
      requests,
      fc.record({ content: text, finish_reason: scripts.map((one) => one.finish_reason) }),
      (given, script) => {
        const alone = { ...given, n: 1 }
        const beside = firstChoice({ ...given, n: 2 }, script as TextScript)
        expect(firstChoice(alone, script as TextScript)).toEqual(beside)
        // Once more, of what is remembered now.
        expect(firstChoice(alone, script as TextScript)).toEqual(beside)
      },
    ),
    { seed: 6, numRuns: runs(1_000) },
  )
})

test('composed text cut by a stop sequence: has the chunks of that text, whatever was answered before', () => {
  const context = { model: 'openai/gpt-4o', answerContext: { id: 'ID', now: 0, keyValues: { get: () => undefined } } }
  const texts = (script: TextScript, given: object) => {
    const asked = { model: 'openai/gpt-4o', messages: [{ role: 'user', content: 'Hi' }], stream: true, ...given }
    const composed = composeChat(asked as ChatRequest, script, context as unknown as AttemptContext) as RenderedAnswer
    const data = composed
      .events()
      .map(
        (event) => event.data as { choices: { delta: { content?: string } }[]; usage?: { completion_tokens: number } },
      )
    return {
      chunks: data.flatMap(({ choices: [choice] }) => choice?.delta.content || []),
      tokens: composed.usage?.completion_tokens,
    }
  }
  const short = 'Say hypothe'
  const long = { content: `Say hypothetically${' and so on'.repeat(6_000)}` }
  const alone = texts({ content: short }, {})
  expect(alone.chunks.join('')).toBe(short)
  // The chunks of the second are not remembered ones, since they have counts.
  expect(texts(long, { stop: 'tically' })).toEqual(alone)
  expect(texts(long, { stop: 'tically', stream_options: { include_usage: true } })).toEqual(alone)
})
