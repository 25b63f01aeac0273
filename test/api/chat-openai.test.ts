// The openai package: its helpers for streams, tools and structured responses, and its error classes.
import { afterAll, describe, expect, test } from 'bun:test'
import type OpenAI from 'openai'
import { NotFoundError, UnprocessableEntityError } from 'openai'
import { LengthFinishReasonError } from 'openai/core/error'
import { zodFunction, zodResponseFormat } from 'openai/helpers/zod'
import { z } from 'zod'
import { createTestApp } from '../support/app.ts'
import { FIXTURES, MODEL } from '../support/chat.ts'
import { openaiOf } from '../support/clients.ts'

const app = createTestApp({ fixtures: [FIXTURES], shipped_fixtures: true })
afterAll(app.close)
const { completions } = openaiOf(app).chat

const say = (content: string) => ({ model: MODEL, messages: [{ role: 'user' as const, content }] })
const COUNT = 'one two three four five six seven eight'
const City = z.object({ city: z.string(), country: z.string(), people: z.int().min(1), capital: z.boolean() })
const Place = z.object({ city: z.string() })

describe('OpenAI SDK create', () => {
  test('returns a whole response', async () => {
    const { choices } = await completions.create(say('count'))
    expect(choices[0]?.message.content).toBe(COUNT)
  })

  test('returns a stream', async () => {
    let text = ''
    for await (const chunk of await completions.create({ ...say('count'), stream: true })) {
      text += chunk.choices[0]?.delta.content ?? ''
    }
    expect(text).toBe(COUNT)
  })

  test('continues a conversation with the returned message as it is', async () => {
    const tools = [zodFunction({ name: 'get_weather', parameters: Place })]
    const first = say('What is the weather in Paris?')
    const { choices } = await completions.create({ ...first, tools, tool_choice: 'required' })
    const message = choices[0]?.message
    const call = message?.tool_calls?.[0]
    if (!message || call?.type !== 'function') throw new Error('no tool was called')
    expect(JSON.parse(call.function.arguments)).toEqual({ city: 'Paris' })
    const result = { role: 'tool' as const, tool_call_id: call.id, content: 'rain' }
    const last = await completions.create({ ...first, tools, messages: [...first.messages, message, result] })
    expect(last.choices[0]?.message).toMatchObject({ content: 'The weather report says: rain' })
  })
})

describe('OpenAI SDK stream helper', () => {
  test('emits events as they happen', async () => {
    const stream = completions.stream({ ...say('count'), logprobs: true, stream_options: { include_usage: true } })
    const seen: string[] = []
    stream.on('content.delta', ({ delta }) => seen.push(delta))
    stream.on('content.done', ({ content }) => seen.push(content))
    stream.on('logprobs.content.done', ({ content }) => seen.push(`${content.length} tokens`))
    const final = await stream.finalChatCompletion()
    expect(seen.slice(0, 8).join('')).toBe(COUNT)
    expect(seen.slice(8).sort()).toEqual(['8 tokens', COUNT])
    expect(await stream.totalUsage()).toMatchObject({ completion_tokens: 8 })
    expect(final.choices[0]).toMatchObject({ finish_reason: 'stop', message: { content: COUNT, refusal: null } })
  })

  test('collects a tool call', async () => {
    const tools = [zodFunction({ name: 'get_weather', parameters: Place })]
    const stream = completions.stream({ ...say('the weather in Paris'), tools })
    const done: unknown[] = []
    stream.on('tool_calls.function.arguments.done', ({ name, parsed_arguments }) => done.push([name, parsed_arguments]))
    const { choices } = await stream.finalChatCompletion()
    expect(done).toEqual([['get_weather', { city: 'Paris' }]])
    expect(choices[0]).toMatchObject({ finish_reason: 'tool_calls', message: { content: null } })
  })

  test('collects a refusal', async () => {
    const stream = completions.stream(say('no way'))
    const refusals: string[] = []
    stream.on('refusal.done', ({ refusal }) => refusals.push(refusal))
    expect((await stream.finalChatCompletion()).choices[0]?.message.refusal).toBe('No.')
    expect(refusals).toEqual(['No.'])
  })

  test('collects a structured response', async () => {
    const stream = completions.stream({ ...say('hello'), response_format: zodResponseFormat(City, 'city') })
    const { choices } = await stream.finalChatCompletion()
    expect(City.parse(choices[0]?.message.parsed)).toEqual(choices[0]?.message.parsed as z.infer<typeof City>)
  })
})

describe('OpenAI SDK parse', () => {
  test('parses a structured response', async () => {
    const { choices } = await completions.parse({ ...say('hello'), response_format: zodResponseFormat(City, 'city') })
    const parsed = choices[0]?.message.parsed
    expect(Object.keys(parsed ?? {}).sort()).toEqual(['capital', 'city', 'country', 'people'])
    expect(parsed?.people).toBeGreaterThanOrEqual(1)
  })

  test('parses nested, optional and recursive schemas', async () => {
    const Step = z.object({ text: z.string(), kind: z.enum(['think', 'act']), note: z.string().nullable() })
    const Tree: z.ZodType = z.object({
      name: z.string(),
      get children() {
        return z.array(Tree)
      },
    })
    const Plan = z.object({
      steps: z.array(Step).min(2),
      tree: Tree,
      when: z.iso.datetime(),
      by: z.union([Place, z.null()]),
    })
    const { choices } = await completions.parse({ ...say('Plan it'), response_format: zodResponseFormat(Plan, 'plan') })
    expect(choices[0]?.message.parsed?.steps.length).toBeGreaterThanOrEqual(2)
  })

  test('parses tool arguments', async () => {
    const tools = [zodFunction({ name: 'add_city', parameters: City })]
    const { choices } = await completions.parse({ ...say('hello'), tools, tool_choice: 'required' })
    expect(City.safeParse(choices[0]?.message.tool_calls?.[0]?.function.parsed_arguments).success).toBe(true)
  })

  test('does not parse a refusal', async () => {
    const response_format = zodResponseFormat(City, 'city')
    const { choices } = await completions.parse({ ...say('no way'), response_format })
    expect(choices[0]?.message).toMatchObject({ parsed: null, refusal: 'No.' })
  })

  test('throws for a cut response', async () => {
    const response_format = zodResponseFormat(City, 'city')
    const error = await completions.parse({ ...say('x'), max_completion_tokens: 2, response_format }).catch(String)
    expect(String(error)).toContain(new LengthFinishReasonError().message)
  })
})

describe('OpenAI SDK runTools', () => {
  const asked: { city: string }[] = []
  const tool = {
    type: 'function' as const,
    function: {
      name: 'get_weather',
      description: 'The weather of a city',
      parameters: z.toJSONSchema(Place) as Record<string, unknown>,
      parse: (text: string) => Place.parse(JSON.parse(text)),
      function: (place: { city: string }) => {
        asked.push(place)
        return `${place.city} is sunny`
      },
    },
  }
  test('calls the tool and ends with a text', async () => {
    const runner = completions.runTools({ ...say('What is the weather in Paris?'), tools: [tool] })
    expect(await runner.finalContent()).toBe('The weather report says: Paris is sunny')
    expect(asked.splice(0)).toEqual([{ city: 'Paris' }])
    expect(runner.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant'])
  })

  test('works when streamed', async () => {
    const runner = completions.runTools({ ...say('What is the weather in Oslo?'), tools: [tool], stream: true })
    expect(await runner.finalContent()).toBe('The weather report says: Oslo is sunny')
    expect(asked.splice(0)).toEqual([{ city: 'Oslo' }])
  })

  test('a forced tool is called with generated arguments, as often as the loop asks', async () => {
    const asking = { ...say('x'), tools: [tool], tool_choice: 'required' as const }
    const runner = completions.runTools(asking, { maxChatCompletions: 2 })
    await runner.done().catch(() => {})
    expect(asked.splice(0)).toEqual([{ city: expect.any(String) }, { city: expect.any(String) }])
  })
})

test('OpenAI SDK audio: returns a transcript and data', async () => {
  const { choices } = await completions.create({
    ...say('count'),
    model: 'openai/gpt-4o-audio-preview',
    modalities: ['text', 'audio'],
    audio: { voice: 'alloy', format: 'wav' },
  })
  const { audio } = choices[0]?.message ?? {}
  expect(audio?.transcript).toBe(COUNT)
  expect(Buffer.from(audio?.data ?? '', 'base64').toString('latin1', 0, 4)).toBe('RIFF')
})

describe('OpenAI SDK error', () => {
  const failed = (call: Promise<unknown>): Promise<unknown> =>
    call.then(
      () => 'succeeded',
      (error: unknown) => error,
    )

  test('is an UnprocessableEntityError with the place of an unsatisfiable schema', async () => {
    const schema = {
      type: 'object',
      properties: { a: { type: 'string', minLength: 2, maxLength: 1 } },
      required: ['a'],
    }
    const response_format = { type: 'json_schema' as const, json_schema: { name: 'x', schema } }
    const error = await failed(completions.create({ ...say('x'), response_format }))
    expect(error).toBeInstanceOf(UnprocessableEntityError)
    expect(error).toMatchObject({ param: 'response_format.json_schema.schema', code: 'sample_not_found' })
  })

  test('is a NotFoundError for an unknown provider, streamed too', async () => {
    for (const call of [
      { ...say('x'), model: 'nobody/x' },
      { ...say('x'), model: 'nobody/x', stream: true as const },
    ]) {
      const error = await failed(completions.create(call as OpenAI.ChatCompletionCreateParams))
      expect(error).toBeInstanceOf(NotFoundError)
      expect(error).toMatchObject({ code: 'model_not_found' })
    }
  })
})
