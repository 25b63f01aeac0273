// Model responses as streams of events: their bytes, their order, and how they break off.
import { afterAll, describe, expect, test } from 'bun:test'
import { type ModelResponse, ResponseEvent } from '../../src/contract/router/responses-answer.ts'
import { assembleResponse } from '../../src/endpoints/responses/provider-answer.ts'
import { dataEvent } from '../../src/lib/sse.ts'
import { type Answer, createTestApp, eventsOf } from '../support/app.ts'
import {
  type Body,
  breakingFetch,
  fixtures,
  lastResponse,
  model,
  PATH,
  readEvents,
  responsesApp,
  weather,
  whole,
} from '../support/responses.ts'
import { StrictEvent } from '../support/strict/responses.ts'

const app = responsesApp()
const { ask } = app
afterAll(app.close)

describe('responses stream', () => {
  test('has exactly the expected bytes for a short text', async () => {
    const answer = await ask({ input: 'Say hi', stream: true })
    expect(answer.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
    const id = answer.headers.get('x-understudy-trace')
    const item = `"item_id":"msg_${id}_0","output_index":0,"content_index":0`
    const part = (text: string) => `"part":{"type":"output_text","text":"${text}","annotations":[],"logprobs":[]}`
    const message = (status: string, content: string) =>
      `"item":{"id":"msg_${id}_0","type":"message","status":"${status}","role":"assistant","content":[${content}]}`
    const blocks = answer.text.split('\n\n')
    const middle = [
      ['output_item.added', `"output_index":0,${message('in_progress', '')}`],
      ['content_part.added', `${item},${part('')}`],
      ['output_text.delta', `${item},"delta":"Hi","logprobs":[]`],
      ['output_text.delta', `${item},"delta":" there","logprobs":[]`],
      ['output_text.done', `${item},"text":"Hi there","logprobs":[]`],
      ['content_part.done', `${item},${part('Hi there')}`],
      ['output_item.done', `"output_index":0,${message('completed', part('Hi there').slice('"part":'.length))}`],
    ].map(([type, rest], index) => {
      const name = `response.${type}`
      return `event: ${name}\ndata: {"type":"${name}","sequence_number":${index + 2},${rest}}`
    })
    expect(blocks.slice(2, 9)).toEqual(middle)
    const frames = ['created', 'in_progress', 'completed'].map((name) => `event: response.${name}\ndata: {`)
    for (const [index, block] of [blocks[0], blocks[1], blocks[9]].entries())
      expect(block).toStartWith(frames[index] ?? '')
    expect(blocks.slice(10)).toEqual(['data: [DONE]', ''])
  })

  const cases: [string, Body, string][] = [
    ['text', { input: 'Say hi' }, 'completed'],
    ['text with log probabilities', { input: 'Say hi', top_logprobs: 2 }, 'completed'],
    ['text and calls', { input: 'Compare', tools: [weather] }, 'completed'],
    ['a refusal', { input: 'Refuse' }, 'completed'],
    ['hidden reasoning', { input: 'Think' }, 'completed'],
    [
      'shown reasoning',
      { input: 'Think', reasoning: { summary: 'auto' }, include: ['reasoning.encrypted_content'] },
      'completed',
    ],
    ['a cut text', { input: 'Say hi', max_output_tokens: 1 }, 'incomplete'],
    ['a cut call', { input: 'Compare', tools: [weather], max_output_tokens: 6 }, 'incomplete'],
    ['a filtered text', { input: 'Filter' }, 'incomplete'],
    ['a generated text', { input: 'Whatever', metadata: { a: 'b' } }, 'completed'],
    ['characters of several tokens', { input: 'Echo 👩‍🚀 and 漢字' }, 'completed'],
  ]

  test.each(cases)('%s: assembles to the whole response', async (_, body, status) => {
    const [streaming, plain] = [createTestApp({ fixtures }), createTestApp({ fixtures })]
    const answer = await streaming.post(PATH, { model, ...body, stream: true })
    const response = whole(await plain.post(PATH, { model, ...body }))
    const events = readEvents(answer)
    expect(events.map((event) => event.sequence_number)).toEqual(events.map((_, index) => index))
    const names = [...answer.text.matchAll(/^event: (.*)$/gm)].map(([, name]) => name ?? '')
    expect(names).toEqual(events.map((event) => event.type))
    for (const event of events) {
      StrictEvent.parse(event)
      expect(ResponseEvent.parse(event) as unknown).toEqual(event)
    }
    expect(events.at(-1)).toMatchObject({ type: `response.${status}`, response: { status } })
    expect(lastResponse(answer)).toEqual(response)
    expect((await streaming.traceOf(answer)).response).toEqual(response)

    const sent = events.map((data) => dataEvent(data, { event: data.type }))
    expect(assembleResponse(sent)).toEqual(response)
    const cut = assembleResponse(sent.slice(0, -1)) as ModelResponse
    expect(cut).toMatchObject({ status: 'in_progress', output: response.output, output_text: response.output_text })
    // Without the events that repeat what the deltas said, the texts are the same.
    const deltas = assembleResponse(sent.filter(({ event }) => !event?.endsWith('.done')).slice(0, -1)) as ModelResponse
    expect(JSON.stringify(deltas.output).replaceAll('in_progress', '')).toBe(
      JSON.stringify(response.output).replaceAll(/"(in)?complete(d)?"/g, '""'),
    )
    streaming.close()
    plain.close()
  })

  test('assembles to an empty object without events', () => {
    expect(assembleResponse([])).toEqual({})
  })
})

describe('truncated responses stream', () => {
  const failure = { code: 'overloaded', message: 'the provider is overloaded' }
  test('ends with error and response.failed and no [DONE]', async () => {
    const [after, text] = [7, 'This is a']
    const body = JSON.stringify({ model, input: 'Whatever', stream: true })
    const response = await breakingFetch(app, after)(`http://localhost${PATH}`, { method: 'POST', body })
    const events = eventsOf(await response.text()) as ({ type: string } & Body)[]
    expect(events.map((event) => event.sequence_number as number)).toEqual(events.map((_, index) => index))
    for (const event of events) expect(ResponseEvent.parse(event) as unknown).toEqual(event)
    expect(events.slice(after).map((event) => event.type)).toEqual(['error', 'response.failed'])
    const [error, failed] = events.slice(after)
    const said = { ...failure, param: null }
    expect(error).toMatchObject({ ...said, error: { type: 'server_error', ...said } })
    expect(failed?.response).toMatchObject({ status: 'failed', error: failure, output_text: text })
    const trace = await app.traceOf({ headers: response.headers } as Answer)
    expect(trace).toMatchObject({
      outcome: 'http_error',
      error: failure,
      response: { status: 'failed', output_text: text },
    })
    const id = (failed?.response as ModelResponse | undefined)?.id
    expect((await ask({ input: 'x', previous_response_id: id })).status).toBe(400)
  })

  test('is an ordinary error before its text', async () => {
    const body = JSON.stringify({ model, input: 'Whatever', stream: true })
    const refused = breakingFetch(app, 4)(`http://localhost${PATH}`, { method: 'POST', body })
    expect(await refused.catch((error: unknown) => error)).toMatchObject({ status: 503, ...failure })
  })
})
