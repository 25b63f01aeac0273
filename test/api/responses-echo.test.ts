// What a model response repeats of its request.
import { afterAll, describe, expect, test } from 'bun:test'
import { type Body, responsesApp, weather } from '../support/responses.ts'

const app = responsesApp()
const { answerTo } = app
afterAll(app.close)

describe('responses echo', () => {
  const format = { type: 'json_schema', name: 'person', schema: { type: 'object' } }
  const bare = { type: 'function', name: 'get_weather', strict: true }
  const cases: [string, Body, Body][] = [
    ['temperature', { temperature: 0.5, top_p: 0.2 }, { temperature: 0.5, top_p: 0.2 }],
    ['no temperature', {}, { temperature: 1, top_p: 1 }],
    ['no text', {}, { text: { format: { type: 'text' } } }],
    ['empty text', { text: {} }, { text: { format: { type: 'text' } } }],
    ['JSON object', { text: { format: { type: 'json_object' } } }, { text: { format: { type: 'json_object' } } }],
    ['schema', { text: { format } }, { text: { format: { ...format, strict: true } } }],
    [
      'loose schema',
      { text: { format: { ...format, strict: false, description: 'd' }, verbosity: 'low' } },
      { text: { format: { ...format, strict: false, description: 'd' }, verbosity: 'low' } },
    ],
    ['no tools', {}, { tools: [], tool_choice: 'auto', parallel_tool_calls: true }],
    [
      'tools',
      { tools: [weather], tool_choice: 'none' },
      { tools: [{ ...weather, strict: true }], tool_choice: 'none' },
    ],
    [
      'tool with nulls',
      { tools: [{ type: 'function', name: 'get_weather', description: null, parameters: null, strict: null }] },
      { tools: [bare] },
    ],
    [
      'named tool',
      { tools: [bare], tool_choice: { type: 'function', name: 'get_weather' }, parallel_tool_calls: false },
      { tool_choice: { type: 'function', function: { name: 'get_weather' } }, parallel_tool_calls: false },
    ],
    [
      'tool of the provider',
      { tools: [{ type: 'web_search' }], tool_choice: { type: 'web_search' } },
      { tools: [{ type: 'web_search' }], tool_choice: 'required' },
    ],
    [
      'reasoning',
      { reasoning: { effort: 'none', summary: 'auto' } },
      { reasoning: { effort: 'none', summary: 'auto' } },
    ],
    ['no reasoning', {}, { reasoning: { effort: null, summary: null } }],
    ['instructions', { instructions: 'Be kind.' }, { instructions: 'Be kind.' }],
    ['limits', { max_output_tokens: 99 }, { max_output_tokens: 99, incomplete_details: null, status: 'completed' }],
    ['metadata', { metadata: { a: 'b' }, user: 'u' }, { metadata: { a: 'b' }, user: 'u' }],
    ['no metadata', {}, { metadata: {}, user: null, error: null, instructions: null, previous_response_id: null }],
    [
      'service',
      { service_tier: 'flex', truncation: 'auto', background: true, store: false },
      { service_tier: 'flex', truncation: 'auto', background: true, store: false },
    ],
    ['no service', {}, { service_tier: 'auto', truncation: 'disabled', background: false, store: true }],
    ['logprobs', { top_logprobs: 3 }, { top_logprobs: 3, logprobs: true }],
    ['no logprobs', {}, { top_logprobs: 0, logprobs: false }],
  ]
  test.each(cases)("returns the request's settings: %s", async (_, body, echoed) => {
    expect(await answerTo({ input: 'Say hi', ...body })).toMatchObject(echoed)
  })
})
