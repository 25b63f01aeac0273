// Invalid requests for a model response and their errors; the documented examples.
import { afterAll, describe, expect, test } from 'bun:test'
import { openApiDocument } from '../support/document.ts'
import { type Body, lastResponse, PATH, responsesApp, result, user, weather, whole } from '../support/responses.ts'

const app = responsesApp()
const { ask, answerTo } = app
afterAll(app.close)

describe('invalid responses request', () => {
  const cases: [string, Body, string, string][] = [
    ['no input', {}, 'input', 'required'],
    ['input of another type', { input: 3 }, 'input', 'must be a string'],
    ['no items', { input: [] }, 'input', 'at least 1 item'],
    ['item without role', { input: [{ content: 'x' }] }, 'input[0].role', '"developer"'],
    ['item without type', { input: [{ type: 'shout' }] }, 'input[0].type', '"message", "function_call"'],
    ['part of chat', { input: [user([{ type: 'text', text: 'x' }])] }, 'input[0].content[0].type', '"input_text"'],
    ['image without source', { input: [user([{ type: 'input_image' }])] }, 'input[0].content[0]', 'image_url, file_id'],
    ['result without call', { input: [{ ...result, call_id: undefined }] }, 'input[0].call_id', 'required'],
    ['provider without model', { model: 'openai/', input: 'x' }, 'model', '<provider>/<model>'],
    ['temperature', { input: 'x', temperature: 2.5 }, 'temperature', 'at most 2'],
    ['top_p', { input: 'x', top_p: -1 }, 'top_p', 'at least 0'],
    ['top_logprobs', { input: 'x', top_logprobs: 21 }, 'top_logprobs', 'at most 20'],
    ['max_output_tokens', { input: 'x', max_output_tokens: 0 }, 'max_output_tokens', 'at least 1'],
    ['effort', { input: 'x', reasoning: { effort: 'huge' } }, 'reasoning.effort', '"xhigh"'],
    [
      'effort of the model',
      { model: 'openai/o3', input: 'x', reasoning: { effort: 'none' } },
      'reasoning.effort',
      '"low", "medium", "high" with openai/o3',
    ],
    [
      'malformed schema',
      { input: 'x', text: { format: { type: 'json_schema', name: 'a', schema: { type: 'text' } } } },
      'text.format.schema',
      'is not a valid JSON Schema',
    ],
    ['include', { input: 'x', include: ['all'] }, 'include[0]', 'message.output_text.logprobs'],
    ['service tier', { input: 'x', service_tier: 'fast' }, 'service_tier', '"priority"'],
    ['truncation', { input: 'x', truncation: 'hard' }, 'truncation', '"disabled"'],
    ['format', { input: 'x', text: { format: { type: 'xml' } } }, 'text.format.type', '"json_schema"'],
    [
      'nested format',
      { input: 'x', text: { format: { type: 'json_schema', json_schema: {} } } },
      'text.format.name',
      'required',
    ],
    ['tool name', { input: 'x', tools: [{ type: 'function', name: 'a b' }] }, 'tools[0].name', 'a-z'],
    [
      'nested tool',
      { input: 'x', tools: [{ type: 'function', function: { name: 'a' } }] },
      'tools[0].name',
      'required',
    ],
    ['forced without tools', { input: 'x', tool_choice: 'required' }, 'tool_choice', "without 'tools'"],
    [
      'unknown tool',
      { input: 'x', tools: [weather], tool_choice: { type: 'function', name: 'b' } },
      'tool_choice.name',
      'get_weather',
    ],
    [
      'metadata pairs',
      { input: 'x', metadata: Object.fromEntries(Array.from({ length: 17 }, (_, index) => [`k${index}`, 'v'])) },
      'metadata',
      'at most 16 pairs',
    ],
    ['metadata value', { input: 'x', metadata: { a: 'v'.repeat(513) } }, 'metadata.a', 'at most 512'],
    ['stored prompt', { input: 'x', svc: { prompt: { id: 'p' } } }, 'svc.prompt', 'not emulated'],
  ]
  test.each(cases)('is rejected at its field: %s', async (_, body, param, text) => {
    const answer = await ask(body)
    expect(answer.status).toBe(400)
    const { error } = answer.json() as { error: { param: string; message: string } }
    expect(error.param).toBe(param)
    expect(error.message).toContain(text)
  })

  test('is rejected when the input is too long, unless truncation is on', async () => {
    const input = 'word '.repeat(9_000)
    const refused = await ask({ model: 'openai/gpt-4', input })
    expect([refused.status, (refused.json().error as Body).code]).toEqual([400, 'context_length_exceeded'])
    const { usage } = await answerTo({ model: 'openai/gpt-4', input, truncation: 'auto' })
    expect(usage?.input_tokens).toBe(8192)
  })
})

test('OpenAPI: shows the responses operation with working examples', async () => {
  const document = await openApiDocument<{
    paths: Record<
      string,
      { post: { requestBody: { content: Record<string, { examples: Record<string, { value: Body }> }> } } }
    >
    components: { schemas: Record<string, unknown> }
  }>()
  for (const name of ['ResponsesRequest', 'ResponsesResponse', 'ResponsesChunk']) {
    expect(document.components.schemas).toHaveProperty(name)
  }
  const examples = document.paths[PATH]?.post.requestBody.content['application/json']?.examples ?? {}
  expect(Object.keys(examples)).toEqual(['greeting', 'stream', 'tool', 'toolResult', 'structured'])
  for (const { value } of Object.values(examples)) {
    const answer = await app.post(PATH, value)
    if (value.stream) expect(lastResponse(answer).status).toBe('completed')
    else expect(whole(answer).status).toBe('completed')
  }
})
