// Model responses as the real OpenAI SDK requests and reads them.
import { afterAll, describe, expect, test } from 'bun:test'
import OpenAI, { APIError, BadRequestError } from 'openai'
import { zodResponsesFunction, zodTextFormat } from 'openai/helpers/zod'
import type { FunctionTool } from 'openai/resources/responses/responses'
import { z } from 'zod'
import { breakingFetch, model, responsesApp, weather } from '../support/responses.ts'

const app = responsesApp()
afterAll(app.close)
const options = { baseURL: 'http://localhost/v2/router', apiKey: 'any', maxRetries: 0 }
const client = new OpenAI({ ...options, fetch: app.clientFetch })
const tools = [{ ...weather, strict: true } as FunctionTool]

describe('OpenAI SDK whole response on the responses API', () => {
  test('is a text with its headers', async () => {
    const { data, response } = await client.responses.create({ model, input: 'Say hi' }).withResponse()
    expect(data).toMatchObject({ status: 'completed', output_text: 'Hi there', usage: { total_tokens: 11 } })
    expect(response.headers.get('x-understudy-fixture')).toBe('hi')
  })

  test('is continued by id', async () => {
    let previous_response_id: string | null = null
    for (const number of [1, 2, 3]) {
      const response: OpenAI.Responses.Response = await client.responses.create({
        model,
        input: `number ${number}`,
        previous_response_id,
      })
      previous_response_id = response.id
      if (number === 3) expect(response.output_text).toBe('Third, with 3.')
    }
  })

  test('is continued by sending the output back', async () => {
    const input: OpenAI.Responses.ResponseInput = [{ role: 'user', content: 'How is the weather?' }]
    const asked = await client.responses.create({ model, input, tools, store: false })
    input.push(...(asked.output as OpenAI.Responses.ResponseInput))
    for (const item of asked.output) {
      if (item.type !== 'function_call') continue
      expect(JSON.parse(item.arguments)).toEqual({ city: 'Utrecht' })
      input.push({ type: 'function_call_output', call_id: item.call_id, output: '17' })
    }
    expect(input).toHaveLength(3)
    const told = await client.responses.create({ model, input, tools, store: false })
    expect(told.output_text).toBe('It is 17 degrees in Utrecht.')
  })

  test('reports a cut text', async () => {
    const response = await client.responses.create({ model, input: 'Say hi', max_output_tokens: 1 })
    expect([response.status, response.incomplete_details?.reason]).toEqual(['incomplete', 'max_output_tokens'])
  })
})

describe('OpenAI SDK parsed response', () => {
  const Person = z.object({ name: z.string(), age: z.int() })
  const text = { format: zodTextFormat(Person, 'person') }

  test('is a structured text of a fixture', async () => {
    const { output_parsed } = await client.responses.parse({ model, input: 'Who is Ada?', text })
    expect(output_parsed).toEqual({ name: 'Ada', age: 36 })
  })

  test('is a generated structured text without a fixture', async () => {
    const { output_parsed } = await client.responses.parse({ model, input: 'Who is it?', text })
    expect(Person.parse(output_parsed)).toEqual(output_parsed as z.infer<typeof Person>)
  })

  test('has parsed tool arguments', async () => {
    const parameters = z.object({ city: z.string(), days: z.int().min(1).max(7) })
    const tool = zodResponsesFunction({ name: 'forecast', parameters })
    const { output } = await client.responses.parse({ model, input: 'x', tools: [tool], tool_choice: 'required' })
    const [item] = output
    const made = item?.type === 'function_call' ? item.parsed_arguments : undefined
    expect(parameters.parse(made)).toEqual(made)
  })
})

describe('OpenAI SDK streamed response on the responses API', () => {
  test('arrives event by event', async () => {
    const stream = await client.responses.create({ model, input: 'Say hi', stream: true })
    const deltas: string[] = []
    for await (const event of stream) if (event.type === 'response.output_text.delta') deltas.push(event.delta)
    expect(deltas).toEqual(['Hi', ' there'])
  })

  const rows: [string, object][] = [
    ['text', { input: 'Say hi' }],
    ['text and calls', { input: 'Compare', tools }],
    ['a refusal', { input: 'Refuse' }],
    ['reasoning', { input: 'Think', reasoning: { summary: 'auto' } }],
  ]
  test.each(rows)('collects %s with the helper as in the whole response', async (_, body) => {
    const whole = await client.responses.create({ model, ...body })
    const final = await client.responses.stream({ model, ...body }).finalResponse()
    // What differs is what belongs to a call by itself: ids, and the time.
    const said = ({ output }: OpenAI.Responses.Response) =>
      output.map((item) => {
        if (item.type === 'message')
          return item.content.map((part) => (part.type === 'refusal' ? part.refusal : part.text))
        if (item.type === 'function_call') return [item.name, item.arguments]
        return item.type === 'reasoning' ? item.summary.map((part) => part.text) : item.type
      })
    expect(said(final)).toEqual(said(whole))
    expect([final.status, final.output_text]).toEqual(['completed', whole.output_text])
    expect(final.usage).toEqual(whole.usage)
  })

  test('collects a structured text with the helper', async () => {
    const text = { format: zodTextFormat(z.object({ name: z.string(), age: z.int() }), 'person') }
    const stream = client.responses.stream({ model, input: 'Who is Ada?', text })
    const snapshots: string[] = []
    stream.on('response.output_text.delta', ({ snapshot }) => snapshots.push(snapshot))
    expect((await stream.finalResponse()).output_parsed).toEqual({ name: 'Ada', age: 36 })
    expect(snapshots.at(-1)).toBe('{"name":"Ada","age":36}')
  })

  test('throws the error of a truncated stream', async () => {
    const broken = new OpenAI({ ...options, fetch: breakingFetch(app, 7) })
    const stream = await broken.responses.create({ model, input: 'x', stream: true })
    const failure = Array.fromAsync(stream).catch((error: unknown) => error)
    expect(await failure).toBeInstanceOf(APIError)
    expect(await failure).toMatchObject({ code: 'overloaded', type: 'server_error' })
  })
})

describe('http_error', () => {
  test('is a BadRequestError for an invalid field', async () => {
    const failure = await client.responses.create({ model, input: 'x', temperature: 9 }).catch((error) => error)
    expect(failure).toBeInstanceOf(BadRequestError)
    expect(failure).toMatchObject({ status: 400, param: 'temperature', type: 'invalid_request_error' })
  })

  test('is a BadRequestError with its own code for a response that is not stored', async () => {
    const body = { model, input: 'x', previous_response_id: 'resp_none' }
    const failure = await client.responses.create(body).catch((error) => error)
    expect(failure).toBeInstanceOf(BadRequestError)
    expect(failure).toMatchObject({ param: 'previous_response_id', code: 'previous_response_not_found' })
  })
})
