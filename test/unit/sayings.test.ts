// What a list shows of a request: the first words of its prompt and the model that it names, from the beginning of its stored JSON.
import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { promptSayings, REQUEST_HEAD, requestBrief, responseSayings } from '../../src/views/sayings.ts'
import { character } from '../support/arbitrary.ts'

const user = (content: unknown) => ({ role: 'user', content })
const brief = (request: unknown) => requestBrief(JSON.stringify(request).slice(0, REQUEST_HEAD))
const LONG = 'word '.repeat(REQUEST_HEAD)

test.each([
  ['a chat', { model: 'gpt-4o', messages: [{ role: 'system', content: 'Be brief.' }, user('Hi there')] }, 'Hi there'],
  ['a conversation', { messages: [user('One?'), { role: 'assistant', content: 'Yes.' }, user('Two?')] }, 'Two?'],
  ['parts', { messages: [user([{ type: 'text', text: 'Look:' }, { type: 'image_url' }])] }, 'Look: [image_url]'],
  ['the result of a tool', { messages: [user('Go'), { role: 'tool', content: 'done' }] }, 'Go'],
  ['a response', { input: 'What is it?' }, 'What is it?'],
  ['a completion', { prompt: 'Once upon\n  a time' }, 'Once upon a time'],
  ['a search', { query: 'shoes', documents: ['a'] }, 'shoes'],
  ['a message to an agent', { message: { role: 'user', parts: [{ kind: 'text', text: 'Cancel it' }] } }, 'Cancel it'],
  ['a body without a prompt', { voice: 'alloy' }, null],
  ['a text that is no JSON', '{"messages":', null],
])('request brief: contains the first words of the prompt of %s', (_, request, prompt) => {
  expect(brief(request).prompt).toBe(prompt)
})

test('request brief: contains the model that the request names', () => {
  expect([{ model: 'gpt-4o' }, { model: 7 }, {}].map((request) => brief(request).model)).toEqual(['gpt-4o', null, null])
})

test('request brief: cuts a long prompt to 120 characters', () => {
  const { prompt } = brief({ prompt: LONG.slice(0, 500) })
  expect(prompt).toHaveLength(120)
  expect(prompt).toEndWith('…')
})

test.each([
  [
    'behind a long system prompt',
    [{ role: 'system', content: LONG.slice(0, 7_000) }, user('Say "hi"\n'), user(LONG)],
    'word word',
  ],
  [
    'in parts',
    [
      user([
        { type: 'text', text: 'Look "here"' },
        { type: 'image_url', image_url: { url: LONG } },
      ]),
    ],
    'Look "here"',
  ],
  ['before a long answer', [user('Tell me all'), { role: 'assistant', content: LONG }], 'Tell me all'],
])('request brief: finds the prompt of a very long request %s', (_, messages, prompt) => {
  const found = brief({ model: 'gpt-4o', messages })
  expect(found.prompt).toStartWith(prompt)
  expect(found.model).toBe('gpt-4o')
})

test('request brief: reads any beginning of any request', () => {
  fc.assert(
    fc.property(fc.string({ unit: character }), fc.nat(200), (text, length) => {
      const { prompt } = requestBrief(JSON.stringify({ model: text, messages: [user(text)] }).slice(0, length))
      expect(prompt?.length ?? 0).toBeLessThanOrEqual(120)
    }),
  )
})

test('promptSayings: reads values that cannot be converted to text', () => {
  const odd = { toString: -1 }
  const messages = [{ role: [[odd]], content: 'N', tool_calls: [{ function: { name: odd, arguments: odd } }] }]
  expect(promptSayings({ messages })).toEqual([
    { role: '[[{"toString":-1}]]', text: 'N' },
    { role: '[[{"toString":-1}]]', text: '{"toString":-1}({"toString":-1})' },
  ])
})

test.each([
  [
    'choices of a chat',
    { choices: [{ message: { content: 'A' } }, { message: { content: null, refusal: 'No' } }] },
    ['A', 'No'],
  ],
  ['choices of a completion', { choices: [{ text: 'A' }, {}] }, ['A']],
  [
    'items of a response',
    {
      output: [
        { type: 'message', content: [{ text: 'A' }] },
        { type: 'function_call', name: 'f', arguments: '{}' },
      ],
    },
    ['A', 'f({})'],
  ],
  ['a message', { content: [{ type: 'text', text: 'A' }] }, ['A']],
  ['a transcription', { text: 'A' }, ['A']],
  ['an empty one', { text: '' }, []],
  ['one that is no object', null, []],
])('response: shows the texts of %s', (_, answer, texts) => {
  const sayings = responseSayings(answer)
  expect(sayings.map(({ text }) => text)).toEqual(texts)
  expect(sayings.every(({ role }) => role === 'assistant')).toBe(true)
})
