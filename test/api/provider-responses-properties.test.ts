// Whatever a provider does to its responses (fields dropped, nulled, retyped, added), a client's stream ends properly, no call is an
// internal error, and every call has its trace; what passes, passes byte for byte.
import { afterAll, expect } from 'bun:test'
import fc from 'fast-check'
import { type Change, changeArbitrary, changedBy } from '../support/arbitrary-answers.ts'
import { HELLO } from '../support/forward.ts'
import { dataIn, oddProvider } from '../support/odd-provider.ts'
import { property, runs } from '../support/property.ts'

const odd = oddProvider()
afterAll(odd.close)

// More of them when a change to a reader asks for it.
const RUNS = runs(60)

type Json = Record<string, unknown>

const frame = {
  id: 'chatcmpl-1',
  object: 'chat.completion.chunk',
  created: 1_700_000_000,
  model: 'gpt-4o-2024-08-06',
  service_tier: 'default',
  system_fingerprint: 'fp_1',
}
const usage = {
  prompt_tokens: 9,
  completion_tokens: 12,
  total_tokens: 21,
  completion_tokens_details: { reasoning_tokens: 0 },
}
const chunk = (delta: object, finish: string | null = null) => ({
  ...frame,
  choices: [{ index: 0, delta, logprobs: null, finish_reason: finish, content_filter_results: {} }],
  usage: null,
})
const logprob = { token: 'Hi', logprob: -0.1, bytes: [72, 105], top_logprobs: [] }
const CHUNKS = [
  {
    ...frame,
    id: '',
    model: '',
    choices: [],
    prompt_filter_results: [{ prompt_index: 0, content_filter_results: {} }],
  },
  chunk({ role: 'assistant', content: '', refusal: null }),
  {
    ...chunk({}),
    choices: [
      { index: 0, delta: { content: 'Hi' }, logprobs: { content: [logprob], refusal: null }, finish_reason: null },
    ],
  },
  chunk({ tool_calls: [{ index: 0, id: 'call_1', type: 'function', function: { name: 'weather', arguments: '' } }] }),
  chunk({ tool_calls: [{ index: 0, function: { arguments: '{"city":"Rome"}' } }] }),
  chunk({ tool_calls: [{ index: 1, id: 'call_2', type: 'custom', custom: { name: 'sh', input: 'ls' } }] }),
  chunk({ reasoning_content: 'Hm', audio: { id: 'a', data: 'AAAA', transcript: 'Hi' } }),
  chunk({}, 'tool_calls'),
  { ...frame, choices: [], usage },
]
const COMPLETION = {
  ...frame,
  object: 'chat.completion',
  choices: [
    {
      index: 0,
      message: {
        role: 'assistant',
        content: 'Hi',
        refusal: null,
        annotations: [],
        reasoning: 'Hm',
        tool_calls: [
          { id: 'call_1', type: 'function', function: { name: 'weather', arguments: '{"city":"Rome"}' } },
          { id: 'call_2', type: 'custom', custom: { name: 'sh', input: 'ls' } },
        ],
        audio: { id: 'a', expires_at: 1, data: 'AAAA', transcript: 'Hi' },
      },
      logprobs: { content: [logprob], refusal: null },
      finish_reason: 'tool_calls',
    },
  ],
  usage,
}
const legacy = (text: string, finish: string | null) => ({
  ...frame,
  object: 'text_completion',
  choices: [{ index: 0, text, logprobs: null, finish_reason: finish }],
})
const part = { type: 'output_text', text: 'Hi', annotations: [], logprobs: [logprob] }
const items = [
  { id: 'rs_1', type: 'reasoning', status: 'completed', summary: [{ type: 'summary_text', text: 'Hm' }] },
  { id: 'ws_1', type: 'web_search_call', status: 'completed', action: { type: 'search', query: 'x' } },
  {
    id: 'msg_1',
    type: 'message',
    status: 'completed',
    role: 'assistant',
    content: [part, { type: 'refusal', refusal: 'No' }],
  },
  { id: 'fc_1', type: 'function_call', status: 'completed', call_id: 'call_1', name: 'weather', arguments: '{}' },
]
const counts = { input_tokens: 3, output_tokens: 2, total_tokens: 5, output_tokens_details: { reasoning_tokens: 1 } }
const RESPONSE = {
  id: 'resp_1',
  object: 'response',
  created_at: 1,
  status: 'completed',
  model: 'gpt-4o',
  output: items,
  usage: counts,
  error: null,
  metadata: {},
}
const begun = { ...RESPONSE, status: 'in_progress', output: [], usage: null }
const place = { item_id: 'msg_1', output_index: 0, content_index: 0 }
const EVENTS = [
  { type: 'response.created', response: begun },
  { type: 'response.output_item.added', output_index: 0, item: { ...items[2], content: [] } },
  { type: 'response.content_part.added', ...place, part: { ...part, text: '' } },
  { type: 'response.output_text.delta', ...place, delta: 'Hi', logprobs: [logprob] },
  { type: 'response.output_item.done', output_index: 0, item: items[2] },
  { type: 'response.output_item.added', output_index: 1, item: { ...items[3], arguments: '' } },
  { type: 'response.function_call_arguments.delta', output_index: 1, delta: '{}' },
  { type: 'response.output_item.added', output_index: 2, item: { ...items[0], summary: [] } },
  {
    type: 'response.reasoning_summary_part.added',
    output_index: 2,
    summary_index: 0,
    part: { type: 'summary_text', text: '' },
  },
  { type: 'response.reasoning_summary_text.delta', output_index: 2, summary_index: 0, delta: 'Hm' },
  { type: 'response.completed', response: RESPONSE },
]

interface Row {
  path: string
  body: object
  whole: object
  events?: object[]
}
const ROWS: Record<string, Row> = {
  'chat completions': {
    path: '/v2/router/chat/completions',
    body: { ...HELLO, stream_options: { include_usage: true } },
    whole: COMPLETION,
    events: CHUNKS,
  },
  completions: {
    path: '/v2/router/completions',
    body: { prompt: 'x', stream_options: { include_usage: true } },
    whole: { ...legacy('Hi', 'stop'), usage },
    events: [legacy('Hi', null), legacy(' you', null), legacy('', 'stop'), { ...frame, choices: [], usage }],
  },
  'model responses': { path: '/v2/router/responses', body: { input: 'x' }, whole: RESPONSE, events: EVENTS },
  images: {
    path: '/v2/router/images/generations',
    body: { prompt: 'x' },
    whole: {
      created: 1,
      data: [{ b64_json: 'AAAA', revised_prompt: 'x' }, { url: 'https://x.test/1.png' }],
      usage: counts,
    },
  },
  embeddings: {
    path: '/v2/router/embeddings',
    body: { input: 'x' },
    whole: { object: 'list', data: [{ object: 'embedding', embedding: [0.5, 0.5], index: 0 }], model: 'm', usage },
  },
}
const changes = fc.array(changeArbitrary, { minLength: 1, maxLength: 3 })
const apply = (value: unknown, all: readonly Change[]) => all.reduce(changedBy, value)
/** What must hold of every call, whatever came. */
async function hold(answer: Awaited<ReturnType<typeof odd.whole>>) {
  expect(odd.reported.splice(0)).toEqual([])
  expect([200, 400, 401, 403, 404, 408, 409, 413, 422, 429, 502, 503, 504]).toContain(answer.status)
  const trace = await odd.app.traceOf(answer)
  expect(trace.id).toBe(answer.headers.get('x-understudy-trace') ?? 'none')
  return trace
}

let calls = 0
for (const [name, { path, body, whole, events = [] }] of Object.entries(ROWS)) {
  const { stream_options: _, ...asked } = body as Json
  property(`property: odd whole responses never cause a server error (${name})`, () =>
    fc.assert(
      fc.asyncProperty(changes, async (all) => {
        const text = JSON.stringify(apply(whole, all))
        const cached = { ...asked, user: `${calls++}`, cache: { type: 'exact_match', ttl: 60 } }
        const answer = await odd.whole(path, cached, text)
        const { outcome } = await hold(answer)
        if (outcome !== 'succeeded') return expect(answer.status).not.toBe(200)
        expect(answer.text).toBe(text)
        // It is told again without harm, whole and as a stream.
        await hold(await odd.whole(path, cached, text))
        if (events.length === 0) return
        const again = await odd.whole(path, { ...cached, stream: true }, text)
        await hold(again)
        expect(dataIn(again.text).at(-1)).toBe('[DONE]')
      }),
      { numRuns: RUNS },
    ),
  )

  if (events.length === 0) continue
  property(`property: odd streams never cause a server error (${name})`, () =>
    fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.nat(events.length - 1), changeArbitrary), { minLength: 1, maxLength: 3 }),
        async (all) => {
          const sent = events.map((event, index) =>
            JSON.stringify(
              apply(
                event,
                all.flatMap(([at, one]) => (at === index ? [one] : [])),
              ),
            ),
          )
          const answer = await odd.stream(path, body, [...sent, '[DONE]'])
          const { outcome } = await hold(answer)
          if (answer.status !== 200) return
          const told = dataIn(answer.text)
          if (outcome === 'succeeded') return expect(told).toEqual([...sent, '[DONE]'])
          // What came before the failure passed as it was, and the failure is told in the stream.
          const failure = told.findIndex((data) => !sent.includes(data))
          expect(told.slice(0, failure)).toEqual(sent.slice(0, failure))
          expect(JSON.parse(told[failure] ?? 'null')).toHaveProperty('error.code')
          expect(told).not.toContain('[DONE]')
        },
      ),
      { numRuns: 2 * RUNS },
    ),
  )
}
