// Every form of the input of a model response.
import { afterAll, describe, expect, test } from 'bun:test'
import { type Body, call, model, responsesApp, result, user, weather, whole } from '../support/responses.ts'

// Items are sent alone, without what belongs to them.
const app = responsesApp({ history: 'off' })
const { ask, answerTo } = app
afterAll(app.close)

describe('responses input', () => {
  const forms: [string, Body, string][] = [
    ['a text', { input: 'Say hi' }, 'hi'],
    ['a message without type', { input: [user('Say hi')] }, 'hi'],
    ['a message with type', { input: [{ type: 'message', ...user('Say hi') }] }, 'hi'],
    [
      'text parts',
      {
        input: [
          user([
            { type: 'input_text', text: 'Say ' },
            { type: 'input_text', text: 'hi' },
          ]),
        ],
      },
      'hi',
    ],
    [
      'an image and a file beside the text',
      {
        input: [
          user([
            { type: 'input_text', text: 'Say hi' },
            { type: 'input_image', image_url: 'https://example.com/a.png', detail: 'auto' },
            { type: 'input_file', file_data: 'data:application/pdf;base64,AAAA', filename: 'a.pdf' },
          ]),
        ],
      },
      'hi',
    ],
    [
      'a response sent back unchanged',
      {
        input: [
          {
            type: 'message',
            id: 'msg_1',
            status: 'completed',
            role: 'assistant',
            content: [{ type: 'output_text', text: 'Ready.', annotations: [], logprobs: [] }],
          },
          { role: 'assistant', content: [{ type: 'refusal', refusal: 'No.' }] },
          { role: 'assistant', content: 'Yes.' },
          user('Say hi'),
        ],
      },
      'hi',
    ],
    ['instructions', { input: 'x', instructions: 'Be brief.' }, 'brief'],
    ['a developer message', { input: [{ role: 'developer', content: 'Be brief.' }, user('x')] }, 'brief'],
    [
      'a system message in parts',
      { input: [{ role: 'system', content: [{ type: 'input_text', text: 'Be brief.' }] }, user('x')] },
      'brief',
    ],
    ['a call without id and status', { input: [user('weather?'), call, result], tools: [weather] }, 'weather-told'],
    [
      'a call with id and status',
      {
        input: [
          user('weather?'),
          { ...call, id: 'fc_1', status: 'completed' },
          { ...result, id: null, status: 'completed' },
        ],
        tools: [weather],
      },
      'weather-told',
    ],
    [
      'a result in parts',
      {
        input: [user('weather?'), call, { ...result, output: [{ type: 'input_text', text: '17' }] }],
        tools: [weather],
      },
      'weather-told',
    ],
    ['a result without its call', { input: [result], metadata: { form: 'lone' } }, 'after-tool'],
    ['a reference to an unknown item', { input: [{ type: 'item_reference', id: 'msg_0' }, user('Say hi')] }, 'hi'],
    [
      'reasoning sent back',
      { input: [{ type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: null }, user('Say hi')] },
      'hi',
    ],
    ["a step of a provider's tool", { input: [{ type: 'web_search_call', id: 'ws_1' }, user('Say hi')] }, 'hi'],
    ['three user messages', { input: [user('1'), user('2'), user('number 3')] }, 'third'],
    [
      'variables',
      { input: 'Say {{what}}', instructions: 'About {{a.b}}', variables: { what: 'hi', a: { b: 1 } } },
      'hi',
    ],
    [
      'variables in parts',
      { input: [user([{ type: 'input_text', text: '{{what}}' }])], variables: { what: 'Say hi' } },
      'hi',
    ],
    ['jinja', { input: 'Say {{ "hi" if a else "no" }}', variables: { a: true }, template_engine: 'jinja' }, 'hi'],
    ['the older names of the inputs', { input: 'Say {{what}}', svc: { inputs: [{ key: 'what', value: 'hi' }] } }, 'hi'],
    ['nulls everywhere', { input: 'Say hi', ...nulls() }, 'hi'],
  ]
  function nulls(): Body {
    const names =
      'instructions previous_response_id metadata temperature top_p reasoning thinking max_output_tokens text include top_logprobs tools tool_choice parallel_tool_calls truncation service_tier store background user identity thread variables svc retry fallbacks cache timeout load_balancer name'
    return Object.fromEntries(names.split(' ').map((name) => [name, null]))
  }

  test.each(forms)('selects the right fixture for %s', async (_, body, fixture) => {
    const answer = await ask(body)
    whole(answer)
    expect(answer.headers.get('x-understudy-fixture')).toBe(fixture)
  })

  test('counts images and files and names them in the trace', async () => {
    const plain = await answerTo({ input: 'Say hi' })
    const image_url = 'data:image/png;base64,iVBORw0KGgo='
    const parts = [
      { type: 'input_text', text: 'Say hi' },
      { type: 'input_image', image_url, detail: 'low' },
      { type: 'input_image', file_id: 'file-1' },
      { type: 'input_file', file_url: 'https://example.com/b.pdf' },
      { type: 'input_file', file_data: `data:application/pdf;base64,${'A'.repeat(64)}`, filename: 'c.pdf' },
    ]
    const answer = await ask({ input: [user(parts)] })
    // A picture of unknown size is 1024 pixels square, four tiles; 48 bytes of a file are three tokens.
    expect(whole(answer).usage?.input_tokens).toBe((plain.usage?.input_tokens ?? 0) + 85 + (85 + 4 * 170) + 3)
    expect((await app.traceOf(answer)).attachments).toEqual([
      { kind: 'image', name: 'image/png' },
      { kind: 'image', name: 'file-1' },
      { kind: 'file', name: 'https://example.com/b.pdf' },
      { kind: 'file', name: 'c.pdf' },
    ])
  })

  test('puts name, metadata, identity and thread in the trace', async () => {
    const said = {
      name: 'greeter',
      metadata: { tier: 'gold' },
      identity: { id: 'user-1' },
      thread: { id: 'thread-1', tags: ['a'] },
    }
    const trace = await app.traceOf(await ask({ input: 'Say hi', ...said }))
    expect(trace).toMatchObject({ ...said, operation: 'responses', model, outcome: 'succeeded', fixture: 'hi' })
  })
})
