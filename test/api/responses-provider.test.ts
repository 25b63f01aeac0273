// Model responses of a provider: how they are read, and what the cache, retrieval and guardrails do with them.
import { afterAll, describe, expect, test } from 'bun:test'
import type { Backend } from '../../src/contract/core/backend.ts'
import type { Reply } from '../../src/contract/core/reply.ts'
import { ResponsesRequest } from '../../src/contract/router/responses.ts'
import type { ModelResponse } from '../../src/contract/router/responses-answer.ts'
import { responsesInputTexts, responsesOutputTexts } from '../../src/endpoints/responses/provider-answer.ts'
import { type Answer, eventsOf } from '../support/app.ts'
import {
  type Body,
  call,
  fetchFrom,
  lastResponse,
  model,
  PATH,
  responsesApp,
  result,
  user,
  whole,
} from '../support/responses.ts'

const app = responsesApp()
const { ask, answerTo } = app
afterAll(app.close)

/** A backend that has this body for every call. */
const having = (body: Reply['body']): Backend => ({
  answer: async () => ({ status: 200, headers: {}, usage: null, fixture: null, generated: false, body }),
})

/** An answer of a backend that sends these bytes. */
async function sent(text: string, stream: boolean): Promise<Answer> {
  const contentType = stream ? 'text/event-stream' : 'application/json'
  const bytes = new TextEncoder().encode(text)
  const backend = having({ kind: 'bytes', contentType, bytes })
  const body = JSON.stringify({ model, input: 'x', stream })
  const response = await fetchFrom(backend, app)(`http://localhost${PATH}`, { method: 'POST', body })
  const read = await response.text()
  return { status: response.status, headers: response.headers, text: read, json: () => JSON.parse(read) }
}
const failure = (text: string, stream: boolean) => sent(text, stream).catch((error: unknown) => error)

// What a provider sends has less than what is made here: no log probabilities, another kind of item.
const search = { id: 'ws_1', type: 'web_search_call', status: 'completed' }
const part = { type: 'output_text', text: 'Hello you', annotations: [] }
const message = { id: 'msg_1', type: 'message', status: 'completed', role: 'assistant', content: [part] }
const usage = { input_tokens: 3, output_tokens: 2, total_tokens: 5 }
const response = {
  id: 'resp_1',
  object: 'response',
  status: 'completed',
  model: 'gpt-4o',
  output: [search, message],
  usage,
}
const event = (type: string, more: Body) => `event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`
const at = { item_id: 'msg_1', output_index: 1, content_index: 0 }
const CREATED = event('response.created', { response: { ...response, status: 'in_progress', output: [], usage: null } })
const BEGUN = [
  CREATED,
  event('response.output_item.done', { output_index: 0, item: search }),
  event('response.output_item.added', { output_index: 1, item: { ...message, content: [] } }),
  event('response.content_part.added', { ...at, part: { ...part, text: '' } }),
  event('response.output_text.delta', { ...at, delta: 'Hello' }),
].join('')

describe('responses provider', () => {
  test('has its whole response passed on unchanged, and it can be continued', async () => {
    const answer = await sent(JSON.stringify(response), false)
    expect(answer.json()).toEqual(response)
    expect((await app.traceOf(answer)).usage).toEqual(usage)
    const next = await ask({ input: 'Say hi', previous_response_id: 'resp_1' })
    expect(whole(next).usage?.input_tokens).toBeGreaterThan(
      (await answerTo({ input: 'Say hi' })).usage?.input_tokens ?? 0,
    )
  })

  test('has its stream passed on byte for byte, with [DONE] at the end', async () => {
    const text = BEGUN + event('response.output_text.delta', { ...at, delta: ' you' })
    const answer = await sent(text + event('response.completed', { response }), true)
    expect(answer.text).toBe(`${text}${event('response.completed', { response })}data: [DONE]\n\n`)
    expect((await app.traceOf(answer)).response).toMatchObject({ id: 'resp_1', output_text: 'Hello you', usage })
  })

  const breaks: [string, string, string][] = [
    ['that ends too early', '', 'provider_disconnected'],
    [
      'with a failed response',
      event('response.failed', { response: { error: { code: 'oops', message: 'no' } } }),
      'oops',
    ],
    ['with an error', event('error', { code: 'oops', message: 'no', param: null }), 'oops'],
    ['with an error of a proxy', 'data: {"error":{"code":"oops","message":"no"}}\n\n', 'oops'],
    ['with something else', 'data: {"choices":[]}\n\n', 'provider_unreadable'],
  ]
  test.each(breaks)("has its stream end with the router's error when it comes %s", async (_, end, code) => {
    const answer = await sent(BEGUN + end, true)
    const last = eventsOf(answer.text).slice(-2)
    expect(last).toMatchObject([
      { type: 'error', sequence_number: 5, code },
      {
        type: 'response.failed',
        sequence_number: 6,
        response: { status: 'failed', error: { code }, output_text: 'Hello' },
      },
    ])
    expect((await app.traceOf(answer)).error).toMatchObject({ code })
  })

  test('has only an error event when its stream breaks before the response began', async () => {
    const answer = await sent(event('response.output_text.delta', { ...at, delta: 'Hello' }), true)
    expect(eventsOf(answer.text).at(-1)).toMatchObject({ type: 'error', sequence_number: 1 })
  })

  const refused: [string, string, boolean, number][] = [
    ['a stream without content', CREATED, true, 502],
    ['a response without output', '{"id":"resp_1"}', false, 502],
    ['a response with an error', JSON.stringify({ ...response, error: { code: 'oops', message: 'no' } }), false, 502],
  ]
  test.each(refused)('is reported as failed for %s', async (_, text, stream, status) => {
    expect(await failure(text, stream)).toMatchObject({ status })
  })
})

describe('responses cache', () => {
  const cache = { type: 'exact_match', ttl: 60 }
  const rows: [string, Body][] = [
    ['a text', { input: 'Say hi', top_logprobs: 2 }],
    ['text and calls', { input: 'Compare' }],
    ['a refusal', { input: 'Refuse' }],
    ['reasoning', { input: 'Think', reasoning: { summary: 'auto' } }],
    ['a cut text', { input: 'Say hi', max_output_tokens: 1 }],
  ]
  test.each(rows)('returns %s under new ids, whole and streamed', async (_, asked) => {
    const body = { ...asked, cache }
    const first = await answerTo({ ...body, metadata: { number: '1' } })
    const again = await ask({ ...body, metadata: { number: '2' } })
    const streamed = await ask({ ...body, stream: true })
    expect([again, streamed].map((answer) => answer.headers.get('x-understudy-cache'))).toEqual(['hit', 'hit'])
    const told = [whole(again), lastResponse(streamed)]
    const plain = ({ output }: ModelResponse) => output.map((item) => ({ ...item, id: '' }))
    for (const one of told)
      expect([one.status, plain(one), one.usage]).toEqual([first.status, plain(first), first.usage])
    const ids = [first, ...told].flatMap(({ id, output }) => [id, ...output.map((item) => item.id)])
    expect(new Set(ids).size).toBe(ids.length)
    expect(told[0]?.metadata).toEqual({ number: '2' })
    // What the cache told is stored like any other response.
    const outputs = (told[0]?.output ?? []).flatMap((item) =>
      item.type === 'function_call' ? [{ type: 'function_call_output', call_id: item.call_id, output: 'x' }] : [],
    )
    const input = [...outputs, { role: 'user', content: 'x' }]
    expect((await ask({ input, previous_response_id: told[0]?.id })).status).toBe(200)
  })

  test("returns a provider's whole response as a stream", async () => {
    const backend = having({ kind: 'value', value: response })
    const post = async (stream: boolean) => {
      const body = JSON.stringify({ model, input: 'provider', cache, stream })
      return (await fetchFrom(backend, app)(`http://localhost${PATH}`, { method: 'POST', body })).text()
    }
    await post(false)
    const events = eventsOf(await post(true)) as Body[]
    const deltas = events.flatMap((one) => (one.type === 'response.output_text.delta' ? [one.delta] : []))
    expect(deltas).toEqual(['Hello', ' you'])
    expect(events.at(-2)?.response).toMatchObject({
      output: [{ type: 'web_search_call' }, { content: [part] }],
    })
  })
})

test('responses knowledge: is put before the input', async () => {
  const seen: string[] = []
  const { answer } = having({ kind: 'value', value: response })
  const backend: Backend = {
    answer(asked) {
      seen.push(asked.operation.prompt(asked.request).system)
      return answer(asked)
    },
  }
  const svc = { knowledge_bases: [{ knowledge_id: 'k' }] }
  const body = JSON.stringify({ model, input: 'x', instructions: 'Be kind.', svc })
  await fetchFrom(backend, app)(`http://localhost${PATH}`, { method: 'POST', body })
  expect(seen).toEqual(['Be kind.\nUse this context to answer:\n\nBe brief.'])
})

test('responses guardrails: see all texts of the user and the model', async () => {
  const assistant = { role: 'assistant', content: 'Not this' }
  const body = {
    model,
    input: [user('One'), assistant, call, { ...result, output: [{ type: 'input_text', text: 'Two' }] }],
  }
  expect(responsesInputTexts(ResponsesRequest.parse(body))).toEqual(['One', 'Two'])
  expect(responsesOutputTexts(await answerTo({ input: 'Compare' }))).toEqual([
    'Let me look.',
    '{"city":"Utrecht"}',
    '{"city":"Rome"}',
  ])
  expect(responsesOutputTexts(await answerTo({ input: 'Refuse' }))).toEqual(['I cannot help with that.'])
})
