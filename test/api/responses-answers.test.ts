// The content of a model response: texts, calls, refusals, reasoning, and the effect of limits.
import { afterAll, describe, expect, test } from 'bun:test'
import { Ajv } from 'ajv'
import { createTestApp } from '../support/app.ts'
import {
  type Body,
  call,
  fixtures,
  model,
  PATH,
  responsesApp,
  result,
  user,
  weather,
  whole,
} from '../support/responses.ts'

const app = responsesApp()
const { ask, answerTo } = app
afterAll(app.close)

describe('model response', () => {
  test('is a whole text', async () => {
    const fresh = createTestApp({ fixtures })
    const answer = await fresh.post(PATH, { model, input: 'Say hi' })
    const response = whole(answer)
    const id = answer.headers.get('x-understudy-trace')
    expect(response).toMatchObject({
      id: `resp_${id}`,
      object: 'response',
      created_at: 1735689600,
      model,
      output_text: 'Hi there',
      usage: {
        input_tokens: 9,
        input_tokens_details: { cached_tokens: 0 },
        output_tokens: 2,
        output_tokens_details: { reasoning_tokens: 0, accepted_prediction_tokens: 0, rejected_prediction_tokens: 0 },
        total_tokens: 11,
      },
    })
    expect(response.output).toEqual([
      {
        id: `msg_${id}_0`,
        type: 'message',
        status: 'completed',
        role: 'assistant',
        content: [{ type: 'output_text', text: 'Hi there', annotations: [], logprobs: [] }],
      },
    ])
    fresh.close()
  })

  test('has a text and two calls, each with an id of its own', async () => {
    const { output, output_text } = await answerTo({ input: 'Compare', tools: [weather] })
    expect(output_text).toBe('Let me look.')
    expect(output.map((item) => item.type)).toEqual(['message', 'function_call', 'function_call'])
    const calls = output.filter((item) => item.type === 'function_call')
    expect(calls.map((item) => item.arguments)).toEqual(['{"city":"Utrecht"}', '{"city":"Rome"}'])
    expect(calls[0]?.call_id).toMatch(/^call_[0-9a-f]{16}$/)
    expect(calls[1]?.call_id).toBe('call_rome')
    expect(new Set(output.map((item) => item.id)).size).toBe(3)
  })

  test('may be a refusal', async () => {
    const { output, output_text, status } = await answerTo({ input: 'Refuse' })
    expect(output).toMatchObject([{ content: [{ type: 'refusal', refusal: 'I cannot help with that.' }] }])
    expect([output_text, status]).toEqual(['', 'completed'])
  })

  const thought = 'Two and two make four.'
  const thinking: [string, Body, string[]][] = [
    ['only counted', {}, []],
    ['shown with a summary', { reasoning: { effort: 'low', summary: 'detailed' } }, [thought]],
    ['shown with thinking', { thinking: { type: 'enabled', budget_tokens: 100 } }, [thought]],
    ['shown with adaptive thinking', { thinking: { type: 'adaptive' } }, [thought]],
  ]
  test.each(thinking)('has reasoning that is %s', async (_, body, shown) => {
    const { output, usage } = await answerTo({ input: 'Think', ...body })
    const [first, second] = output
    expect(first?.type === 'reasoning' && first.summary.map((part) => part.text)).toEqual(shown)
    expect(second?.type).toBe('message')
    expect(usage?.output_tokens_details.reasoning_tokens).toBe(6)
    expect(usage?.output_tokens).toBe(8)
  })

  const mute: [string, Body][] = [
    ['effort none', { reasoning: { effort: 'none', summary: 'auto' } }],
    ['thinking disabled', { thinking: { type: 'disabled' } }],
  ]
  test.each(mute)('has no reasoning with %s', async (_, body) => {
    for (const input of ['Think', 'Whatever you like']) {
      const { output, usage } = await answerTo({ input, ...body })
      expect(output.map((item) => item.type)).toEqual(['message'])
      expect(usage?.output_tokens_details.reasoning_tokens).toBe(0)
    }
  })

  test('stays within a thinking budget', async () => {
    const { output, usage } = await answerTo({ input: 'Think', thinking: { type: 'enabled', budget_tokens: 3 } })
    expect(output[0]).toMatchObject({ type: 'reasoning', summary: [{ text: 'Two and two' }] })
    expect(usage?.output_tokens_details.reasoning_tokens).toBe(3)
  })

  test('has more reasoning with more effort and less text with less verbosity', async () => {
    const reasoned = async (effort: string) =>
      (await answerTo({ input: 'Why?', reasoning: { effort } })).usage?.output_tokens_details.reasoning_tokens ?? 0
    expect(await reasoned('high')).toBeGreaterThan(await reasoned('low'))
    const said = async (verbosity: string) => (await answerTo({ input: 'Why?', text: { verbosity } })).output_text
    expect((await said('high')).length).toBeGreaterThan((await said('low')).length)
  })

  test('has encrypted reasoning only on request', async () => {
    const include = ['reasoning.encrypted_content']
    const [item] = (await answerTo({ input: 'Think', include })).output
    expect(item?.type === 'reasoning' && item.encrypted_content).toMatch(/^[A-Za-z0-9+/=]{40,}$/)
    const [plain] = (await answerTo({ input: 'Think' })).output
    expect(plain).not.toHaveProperty('encrypted_content')
  })

  const cuts: [string, Body, Body][] = [
    ['in the text', { input: 'Say hi', max_output_tokens: 1 }, { output_text: 'Hi' }],
    ['in the arguments', { input: 'Compare', max_output_tokens: 6 }, { output_text: 'Let me look.' }],
    ['in the reasoning', { input: 'Think', max_output_tokens: 3 }, { output_text: '' }],
  ]
  test.each(cuts)('is cut by a limit %s', async (_, body, expected) => {
    const { output, status, incomplete_details, usage, ...rest } = await answerTo({ tools: [weather], ...body })
    expect([status, incomplete_details]).toEqual(['incomplete', { reason: 'max_output_tokens' }])
    expect(output.at(-1)?.status).toBe('incomplete')
    expect(output.slice(0, -1).every((item) => item.status === 'completed')).toBe(true)
    expect(usage?.output_tokens).toBe(body.max_output_tokens as number)
    expect(rest).toMatchObject(expected)
  })

  test('is ended by a content filter', async () => {
    expect(await answerTo({ input: 'Filter' })).toMatchObject({
      status: 'incomplete',
      incomplete_details: { reason: 'content_filter' },
      output_text: 'This was',
    })
  })

  test('uses the token counts of a fixture', async () => {
    expect((await answerTo({ input: 'Count' })).usage).toMatchObject({
      input_tokens: 11,
      output_tokens: 7,
      total_tokens: 18,
    })
  })

  test('has log probabilities for the text', async () => {
    const { output } = await answerTo({ input: 'Say hi', include: ['message.output_text.logprobs'], top_logprobs: 2 })
    const [item] = output
    const part = item?.type === 'message' ? item.content[0] : undefined
    const logprobs = part?.type === 'output_text' ? part.logprobs : []
    expect(logprobs.map((one) => one.token)).toEqual(['Hi', ' there'])
    expect(logprobs.map((one) => new TextDecoder().decode(new Uint8Array(one.bytes ?? [])))).toEqual(['Hi', ' there'])
    for (const one of logprobs) {
      expect(one.logprob).toBeLessThanOrEqual(0)
      expect(one.top_logprobs).toHaveLength(2)
    }
  })

  test('has the same log probabilities again, and those of a chat completion', async () => {
    const body = { input: 'Something else', include: ['message.output_text.logprobs'], top_logprobs: 2 }
    const logprobs = async () => JSON.parse(JSON.stringify(await answerTo(body))).output[0].content[0].logprobs
    const first = await logprobs()
    expect(await logprobs()).toEqual(first)
    const chat = { model, messages: [{ role: 'user', content: 'Something else' }], logprobs: true, top_logprobs: 2 }
    const { choices } = (await app.post('/v2/router/chat/completions', chat)).json() as {
      choices: { logprobs: { content: object[] } }[]
    }
    expect(choices[0]?.logprobs.content).toEqual(first)
  })

  const now = { type: 'function', name: 'now', parameters: { type: 'object', properties: {} } }
  const forced: [string, Body][] = [
    ['required', { tool_choice: 'required' }],
    ['named', { tool_choice: { type: 'function', name: 'now' } }],
  ]
  test.each(forced)('has a generated %s call without a fixture', async (_, body) => {
    const answer = await ask({ input: 'What time is it?', tools: [now], ...body })
    expect(answer.headers.get('x-understudy-fixture')).toBe('generated')
    const { output } = whole(answer)
    const made = output.filter((item) => item.type === 'function_call')
    expect(made.map((item) => [item.name, JSON.parse(item.arguments)])).toEqual([['now', {}]])
  })

  test('has only the first call without parallel calls', async () => {
    const { output } = await answerTo({ input: 'Compare', tools: [weather], parallel_tool_calls: false })
    expect(output.map((item) => item.type)).toEqual(['message', 'function_call'])
  })

  test('is text after a tool result unless a call is required', async () => {
    const tools = [now]
    const input = [user('What time is it?'), { ...call, name: 'now', arguments: '{}' }, { ...result, output: 'Noon' }]
    const required = await answerTo({ input, tools, tool_choice: 'required' })
    expect(required.output.map((item) => item.type)).toEqual(['function_call'])
    const { output, output_text } = await answerTo({ input, tools })
    expect(output.map((item) => item.type)).toEqual(['message'])
    expect(output_text).toContain('Noon')
  })

  const city = {
    type: 'object',
    properties: { city: { type: 'string', minLength: 3 }, people: { type: 'integer', minimum: 1000 } },
    required: ['city', 'people'],
    additionalProperties: false,
  }
  test.each([true, false, null])('a generated response satisfies its schema (strict: %p)', async (strict) => {
    const format = { type: 'json_schema', name: 'city', schema: city, strict }
    const answer = await ask({ input: 'Any city', text: { format } })
    expect(answer.headers.get('x-understudy-fixture')).toBe('generated')
    const validate = new Ajv().compile(city)
    expect(validate(JSON.parse(whole(answer).output_text))).toBe(true)
  })

  test('a generated response in JSON is JSON', async () => {
    const { output_text } = await answerTo({ input: 'Any object', text: { format: { type: 'json_object' } } })
    expect(JSON.parse(output_text)).toBeObject()
  })
})
