// A fixture for a chat completion also answers an equal model response, unless that has its own; and a near miss names those of the other
// operation.
import { afterAll, expect, test } from 'bun:test'
import { createOpenAI } from '@ai-sdk/openai'
import { generateText } from 'ai'
import { createTestApp } from '../support/app.ts'
import { CHAT, MODEL, user } from '../support/chat.ts'
import { BASE_URL, fetchInto } from '../support/clients.ts'
import { folderWith } from '../support/fixtures.ts'
import { PATH } from '../support/responses.ts'

const folder = folderWith({
  'fixtures/chat.completions/a.yaml': [
    { name: 'chat/refund', match: { user: 'refund' }, reply: { content: 'From the chat.' } },
    { name: 'chat/both', match: { user: 'both' }, reply: { content: 'From the chat.' } },
    { name: 'chat/tool', match: { tools: ['look'], tool_result: false }, reply: { tool_calls: [{ name: 'look' }] } },
    {
      name: 'chat/result',
      match: { tools: ['look'], tool_result: true },
      reply: { content: 'It said {{prompt.tool_result}}.' },
    },
    { name: 'chat/system', match: { system: 'Be brief.', turn: 2 }, reply: { content: 'Second.' } },
    { name: 'chat/down', match: { user: 'down' }, reply: { error: { status: 503, message: 'Down.' } } },
  ],
  'fixtures/responses/b.yaml': [
    { name: 'responses/both', match: { user: 'both' }, reply: { content: 'From the response.' } },
    { name: 'responses/only', match: { user: 'only here' }, reply: { content: 'Only.' } },
  ],
})
const app = createTestApp({ fixtures: [`${folder.path}/fixtures`], on_unmatched: 'error', shipped_fixtures: true })
afterAll(async () => {
  await app.close()
  folder.remove()
})
const look = { type: 'function', name: 'look', parameters: { type: 'object' } }

const rows: [string, object, string, object][] = [
  ['the same question', { input: 'refund' }, 'chat/refund', { output_text: 'From the chat.' }],
  [
    'a question that has a responses fixture',
    { input: 'both' },
    'responses/both',
    { output_text: 'From the response.' },
  ],
  ['a tool call', { input: 'x', tools: [look] }, 'chat/tool', { output: [{ type: 'function_call', name: 'look' }] }],
  [
    'a tool result',
    {
      input: [
        { role: 'user', content: 'x' },
        { type: 'function_call', call_id: 'a', name: 'look', arguments: '{}' },
        { type: 'function_call_output', call_id: 'a', output: '17' },
      ],
      tools: [look],
    },
    'chat/result',
    { output_text: 'It said 17.' },
  ],
  [
    'instructions and turns',
    {
      instructions: 'Be brief.',
      input: [
        { role: 'user', content: '1' },
        { role: 'user', content: '2' },
      ],
    },
    'chat/system',
    { output_text: 'Second.' },
  ],
  [
    'a question of a shipped fixture',
    { input: 'Hello!' },
    'chat.completions/greeting',
    { output_text: expect.stringContaining('Understudy') },
  ],
]
test.each(rows)('responses API: uses chat fixtures for %s', async (_, body, name, said) => {
  const answer = await app.post(PATH, { model: MODEL, ...body })
  expect(answer.headers.get('x-understudy-fixture')).toBe(name)
  expect(answer.json()).toMatchObject(said)
})

test('responses API: returns the error of a chat fixture', async () => {
  expect((await app.post(PATH, { model: MODEL, input: 'down' })).status).toBe(503)
})

test('responses API: uses chat fixtures for the default model of the AI SDK', async () => {
  const ai = createOpenAI({ baseURL: BASE_URL, apiKey: 'any', fetch: fetchInto(app) })
  expect((await generateText({ model: ai(MODEL), prompt: 'refund' })).text).toBe('From the chat.')
})

test('chat API: does not use fixtures for responses and names them in the error', async () => {
  const answer = await app.post(CHAT, { model: MODEL, ...user('only here') })
  expect(answer.status).toBe(404)
  const { error } = answer.json() as { error: { message: string } }
  expect(error.message).toContain('responses/only')
  expect(error.message).toContain('for responses')
})

test('responses API: names chat fixtures as near misses', async () => {
  const answer = await app.post(PATH, { model: MODEL, input: 'x', tools: [{ ...look, name: 'peek' }] })
  const { error } = answer.json() as { error: { message: string } }
  expect(error.message).toContain('chat/tool (tools: expected a tool named look, got ["peek"])')
})
