// The finders of broken conversations, on values of any shape and size.
import { describe, expect } from 'bun:test'
import fc from 'fast-check'
import type { EarlierResponses } from '../../src/contract/core/history.ts'
import { findChatProblems } from '../../src/providers/rules/chat-problems.ts'
import { chatOfItems, messagesOfChat } from '../../src/providers/rules/convert.ts'
import { findMessagesProblems } from '../../src/providers/rules/messages-problems.ts'
import { findItemProblems } from '../../src/providers/rules/responses-problems.ts'
import { property, runs, test } from '../support/property.ts'

const NOTHING: EarlierResponses = {
  missing: undefined,
  openCalls: undefined,
  wasCalled: () => false,
  itemsBeside: () => undefined,
  mayHaveStored: () => false,
  isChanged: () => false,
}
const finders = {
  chat: (values: readonly unknown[]) => [...findChatProblems(values)],
  messages: (values: readonly unknown[]) => [
    ...findMessagesProblems({ messages: values, thinking: { type: 'enabled' } }),
  ],
  responses: (values: readonly unknown[]) => [...findItemProblems(values, NOTHING)],
  'chat for Anthropic': (values: readonly unknown[]) => [...findMessagesProblems(messagesOfChat(values))],
  'responses for Anthropic': (values: readonly unknown[]) => [
    ...findMessagesProblems(messagesOfChat(chatOfItems(values).messages)),
  ],
}

const odd = fc.oneof(
  fc.constantFrom<unknown[]>(null, 1, '', 'x', [], {}, true, { toString: -1 }, [[{ toString: -1 }]]),
  fc.object({ maxDepth: 2 }),
)
const idLike = fc.oneof(fc.constantFrom('a', 'b', ''), odd)
const block = fc.record(
  {
    type: fc.constantFrom<unknown[]>(
      { toString: -1 },
      'text',
      'tool_use',
      'tool_result',
      'thinking',
      'server_tool_use',
      'web_search_tool_result',
      1,
    ),
    id: idLike,
    tool_use_id: idLike,
    text: odd,
    thinking: odd,
    signature: odd,
  },
  { requiredKeys: [] },
)
const message = fc.record(
  {
    role: fc.constantFrom<unknown[]>(
      { toString: -1 },
      'user',
      'assistant',
      'tool',
      'system',
      'function',
      'developer',
      null,
      7,
    ),
    type: fc.constantFrom<unknown[]>(
      { toString: -1 },
      'message',
      'function_call',
      'function_call_output',
      'reasoning',
      'item_reference',
      3,
    ),
    content: fc.oneof(fc.string(), fc.array(fc.oneof(block, odd), { maxLength: 4 }), odd),
    tool_calls: fc.oneof(fc.array(fc.oneof(fc.record({ id: idLike }), odd), { maxLength: 3 }), odd),
    tool_call_id: idLike,
    call_id: idLike,
    id: idLike,
  },
  { requiredKeys: [] },
)

property('conversation problems: are at places that exist in values of any shape', () => {
  fc.assert(
    fc.property(fc.array(fc.oneof(message, odd), { maxLength: 8 }), (values) => {
      for (const [name, find] of Object.entries(finders)) {
        const wrong = find(values).filter(
          ({ index, ids }) => index >= Math.max(1, values.length) || ids.some((id) => typeof id !== 'string'),
        )
        expect({ name, wrong }).toEqual({ name, wrong: [] })
      }
    }),
    { numRuns: runs(1_000) },
  )
})

describe('10,000 messages', () => {
  /** A conversation of so many turns, each with a tool call and its result. */
  const rounds = (count: number) => Array.from({ length: count }, (_, index) => `call_${index}`)
  const chat = (ids: readonly string[]) =>
    ids.flatMap((id) => [
      { role: 'user', content: 'x' },
      { role: 'assistant', content: null, tool_calls: [{ id }] },
      { role: 'tool', tool_call_id: id, content: 'y' },
      { role: 'assistant', content: 'z' },
    ])
  const items = (ids: readonly string[]) =>
    ids.flatMap((id) => [
      { role: 'user', content: 'x' },
      { type: 'reasoning', id: `rs_${id}` },
      { type: 'function_call', id: `fc_${id}`, call_id: id },
      { type: 'function_call_output', call_id: id },
    ])
  const ids = rounds(2_500)

  test('valid conversations: have no problem but their end', () => {
    expect(finders.chat(chat(ids)).map(({ problem }) => problem)).toEqual(['assistant-last'])
    expect(finders['chat for Anthropic'](chat(ids)).map(({ problem }) => problem)).toEqual(['assistant-last'])
    expect(finders.responses(items(ids))).toEqual([])
  })

  test('parallel calls: each lookup is by id, so 20,000 of them have no problem', () => {
    const many = rounds(20_000)
    const parallel = [
      { role: 'user', content: 'x' },
      { role: 'assistant', tool_calls: many.map((id) => ({ id })) },
      ...many.toReversed().map((id) => ({ role: 'tool', tool_call_id: id, content: 'y' })),
    ]
    expect(finders.chat(parallel)).toEqual([])
    expect(finders['chat for Anthropic'](parallel)).toEqual([])
  })
})
