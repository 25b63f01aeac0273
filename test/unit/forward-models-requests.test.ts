// The requests to Anthropic and Google for a chat call.
import { afterAll, describe, expect, test } from 'bun:test'
import { at, attempt, backendOf, HELLO, KEY, startProvider } from '../support/forward.ts'

const weather = {
  type: 'function',
  function: { name: 'get_weather', parameters: { type: 'object', properties: { city: { type: 'string' } } } },
}

describe('request to Anthropic and Google', () => {
  const upstream = startProvider(() => Response.json({ error: { message: 'no' } }, { status: 400 }))
  afterAll(upstream.stop)
  const backend = backendOf({ anthropic: at(upstream.url), google: at(upstream.url) })
  const sent = async (model: string, body: object) => {
    await backend.answer(attempt(model, body))
    return upstream.lastJson()
  }
  const CLAUDE = 'anthropic/claude-sonnet-4-5'
  const GEMINI = 'google/gemini-2.5-flash'
  const user = (...content: object[]) => ({ messages: [{ role: 'user', content }] })
  const image = (url: string) => user({ type: 'image_url', image_url: { url } })
  const tools = [weather]

  test("has the key only in the provider's header", async () => {
    await sent(CLAUDE, HELLO)
    expect(upstream.last()).toMatchObject({ path: '/messages', headers: { 'x-api-key': KEY } })
    await sent(GEMINI, { ...HELLO, stream: true })
    const { path, headers } = upstream.last()
    expect(path).toBe('/models/gemini-2.5-flash:streamGenerateContent?alt=sse')
    expect(headers['x-goog-api-key']).toBe(KEY)
  })

  const rows: [string, string, object, object][] = [
    [
      'settings',
      CLAUDE,
      { ...HELLO, max_tokens: 9, temperature: 0.5, stop: 'x' },
      { model: 'claude-sonnet-4-5', max_tokens: 9, temperature: 0.5, stop_sequences: ['x'] },
    ],
    [
      'settings',
      GEMINI,
      { ...HELLO, max_completion_tokens: 9, top_p: 0.5, stop: ['x', 'y'], seed: 3 },
      { generationConfig: { maxOutputTokens: 9, topP: 0.5, stopSequences: ['x', 'y'], seed: 3 } },
    ],
    [
      'system messages, and where the cache ends',
      CLAUDE,
      {
        messages: [
          { role: 'system', content: [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } }] },
          ...HELLO.messages,
        ],
      },
      { system: [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral', ttl: '5m' } }] },
    ],
    [
      'system messages',
      GEMINI,
      { messages: [{ role: 'developer', content: 'Be brief.' }, ...HELLO.messages] },
      { systemInstruction: { parts: [{ text: 'Be brief.' }] } },
    ],
    [
      'an image',
      CLAUDE,
      image('data:image/png;base64,aGk='),
      {
        messages: [{ content: [{ type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'aGk=' } }] }],
      },
    ],
    [
      'the URL of an image',
      CLAUDE,
      image('https://example.com/a.png'),
      { messages: [{ content: [{ source: { type: 'url', url: 'https://example.com/a.png' } }] }] },
    ],
    [
      'an image',
      GEMINI,
      image('data:image/png;base64,aGk='),
      { contents: [{ parts: [{ inlineData: { mimeType: 'image/png', data: 'aGk=' } }] }] },
    ],
    [
      'the URL of an image',
      GEMINI,
      image('https://example.com/a.webp?x=1'),
      { contents: [{ parts: [{ fileData: { mimeType: 'image/webp', fileUri: 'https://example.com/a.webp?x=1' } }] }] },
    ],
    [
      'audio',
      GEMINI,
      user({ type: 'input_audio', input_audio: { data: 'aGk=', format: 'mp3' } }),
      { contents: [{ parts: [{ inlineData: { mimeType: 'audio/mpeg', data: 'aGk=' } }] }] },
    ],
    [
      'a file',
      CLAUDE,
      user({ type: 'file', file: { file_data: 'data:application/pdf;base64,aGk=', filename: 'a.pdf' } }),
      { messages: [{ content: [{ type: 'document', title: 'a.pdf' }] }] },
    ],
    ['a required tool call', CLAUDE, { ...HELLO, tools, tool_choice: 'required' }, { tool_choice: { type: 'any' } }],
    [
      'a required named tool',
      CLAUDE,
      { ...HELLO, tools, tool_choice: weather, parallel_tool_calls: false },
      { tool_choice: { type: 'tool', name: 'get_weather', disable_parallel_tool_use: true } },
    ],
    [
      'a required named tool',
      GEMINI,
      { ...HELLO, tools, tool_choice: weather },
      { toolConfig: { functionCallingConfig: { mode: 'ANY', allowedFunctionNames: ['get_weather'] } } },
    ],
    [
      'a thinking budget',
      CLAUDE,
      { ...HELLO, max_tokens: 9000, thinking: { type: 'enabled', budget_tokens: 2048 } },
      { thinking: { type: 'enabled', budget_tokens: 2048 } },
    ],
    [
      'a thinking budget',
      GEMINI,
      { ...HELLO, thinking: { type: 'enabled', budget_tokens: 2048 } },
      { generationConfig: { thinkingConfig: { includeThoughts: true, thinkingBudget: 2048 } } },
    ],
    [
      'disabled thinking',
      GEMINI,
      { ...HELLO, reasoning_effort: 'none' },
      { generationConfig: { thinkingConfig: { thinkingBudget: 0 } } },
    ],
    [
      'an earlier turn with its thinking and calls',
      CLAUDE,
      {
        tools,
        messages: [
          ...HELLO.messages,
          {
            role: 'assistant',
            reasoning: 'Hm.',
            reasoning_signature: 'sig',
            content: 'Wait.',
            tool_calls: [{ id: 'c1', function: { name: 'get_weather', arguments: '{"city":"Paris"}' } }],
          },
          { role: 'tool', tool_call_id: 'c1', content: '17' },
        ],
      },
      {
        messages: [
          { role: 'user' },
          {
            role: 'assistant',
            content: [
              { type: 'thinking', thinking: 'Hm.', signature: 'sig' },
              { type: 'text', text: 'Wait.' },
              { type: 'tool_use', id: 'c1', name: 'get_weather', input: { city: 'Paris' } },
            ],
          },
          { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c1', content: '17' }] },
        ],
      },
    ],
    [
      'results of several calls in one turn',
      GEMINI,
      {
        tools,
        messages: [
          ...HELLO.messages,
          {
            role: 'assistant',
            tool_calls: ['c1', 'c2'].map((id) => ({
              id,
              thought_signature: `sig-${id}`,
              function: { name: 'get_weather', arguments: '{}' },
            })),
          },
          { role: 'tool', tool_call_id: 'c1', content: '17' },
          { role: 'tool', tool_call_id: 'c2', content: '18' },
        ],
      },
      {
        contents: [
          { role: 'user' },
          { role: 'model', parts: [{ thoughtSignature: 'sig-c1' }, { thoughtSignature: 'sig-c2' }] },
          { role: 'user', parts: [{ functionResponse: { name: 'get_weather' } }, { functionResponse: {} }] },
        ],
      },
    ],
  ]
  test.each(rows)('contains %s: %s', async (_, model, body, expected) => {
    expect(await sent(model, body)).toMatchObject(expected)
  })

  const refusals: [string, object, string | null][] = [
    [CLAUDE, { ...HELLO, n: 2 }, 'n'],
    [GEMINI, { ...HELLO, logprobs: true }, 'logprobs'],
    [
      CLAUDE,
      {
        messages: [
          { role: 'assistant', tool_calls: [{ id: 'a', function: { name: 'f', arguments: '{' } }] },
          ...HELLO.messages,
        ],
      },
      'messages[0].tool_calls[0].function.arguments',
    ],
    [GEMINI, { messages: [...HELLO.messages, { role: 'system', content: 'Late.' }] }, null],
  ]
  test.each(refusals)('%s: is rejected when it cannot be sent: %j', async (model, body, param) => {
    const before = upstream.seen.length
    expect(await backend.answer(attempt(model, body)).catch((error) => error)).toMatchObject({ status: 400, param })
    expect(upstream.seen.length).toBe(before)
  })
})

describe("model name in a provider's path", () => {
  const upstream = startProvider(() => Response.json({ error: { message: 'no' } }, { status: 400 }))
  afterAll(upstream.stop)
  const backend = backendOf({ google: at(`${upstream.url}/v1`), azure: at(`${upstream.url}/base`) })
  const rows: [model: string, google: string, azure: string][] = [
    ['gemini-2.5-flash', '/v1/models/gemini-2.5-flash', '/base/openai/deployments/gemini-2.5-flash'],
    ['tunedModels/mine', '/v1/tunedModels/mine', '/base/openai/deployments/tunedModels%2Fmine'],
    ['a?key=b', '/v1/models/a%3Fkey%3Db', '/base/openai/deployments/a%3Fkey%3Db'],
    ['a#b', '/v1/models/a%23b', '/base/openai/deployments/a%23b'],
    ['a\u00fc', '/v1/models/a%C3%BC', '/base/openai/deployments/a%C3%BC'],
    ['..%2f..%2ffiles', '/v1/models/..%252f..%252ffiles', '/base/openai/deployments/..%252f..%252ffiles'],
    ['%2e%2e', '/v1/models/%252e%252e', '/base/openai/deployments/%252e%252e'],
    ['a\\..\\b', '/v1/models/a%5C..%5Cb', '/base/openai/deployments/a%5C..%5Cb'],
    ['x:y@z', '/v1/models/x%3Ay%40z', '/base/openai/deployments/x%3Ay%40z'],
    ['a\ud800', '/v1/models/a%EF%BF%BD', '/base/openai/deployments/a%EF%BF%BD'],
  ]
  test.each(rows)('is encoded: %j', async (model, google, azure) => {
    await backend.answer(attempt(`google/${model}`, HELLO))
    expect(upstream.last().path).toBe(`${google}:generateContent`)
    await backend.answer(attempt(`google/${model}`, { ...HELLO, stream: true }))
    expect(upstream.last().path).toBe(`${google}:streamGenerateContent?alt=sse`)
    await backend.answer(attempt(`azure/${model}`, HELLO))
    expect(upstream.last().path).toBe(`${azure}/chat/completions?api-version=2024-10-21`)
  })

  test.each(['..', '.', '../x', 'x/../../files', 'x//y', 'x/'])('%j is rejected and nothing is sent', async (model) => {
    const before = upstream.seen.length
    for (const provider of ['google', 'azure']) {
      const answer = backend.answer(attempt(`${provider}/${model}`, HELLO))
      await expect(answer).rejects.toMatchObject({ status: 400, code: 'invalid_model', param: 'model' })
    }
    expect(upstream.seen).toHaveLength(before)
  })
})
