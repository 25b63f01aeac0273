// The real OpenAI SDK, and the bytes it receives.
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import OpenAI, { APIError, AuthenticationError, BadRequestError, NotFoundError } from 'openai'
import type { StoredTrace } from '../../src/contract/core/trace.ts'
import { serveHere } from '../support/cli.ts'
import { emptyFolder, type Server } from '../support/server.ts'

const folder = emptyFolder()
const cwd = folder.path
const model = 'openai/gpt-4o'
const say = (content: string) => ({ model, messages: [{ role: 'user' as const, content }] })
const COUNT = 'one two three four five six seven eight'
const FIXTURES = `
- match: { user: count }
  reply: { content: ${COUNT} }
- match: { user: for ever }
  reply: { content: ${COUNT}, timing: { first_token: 1ms, tokens_per_second: 0.001 } }
`
let server: Server
let client: OpenAI
const clientOf = (more: object = {}) =>
  new OpenAI({ baseURL: `${server.url}/v2/router`, apiKey: 'any', maxRetries: 0, ...more })
const start = () => serveHere(['--fixtures', join(cwd, 'fixtures'), '--db', join(cwd, 'calls.db')], { cwd })
beforeAll(async () => {
  mkdirSync(join(cwd, 'fixtures', 'chat.completions'), { recursive: true })
  writeFileSync(join(cwd, 'fixtures', 'chat.completions', 'counting.yaml'), FIXTURES)
  server = await start()
  client = clientOf()
})
afterAll(async () => {
  await server.stop()
  folder.remove()
})

async function traces(path = '', headers: Record<string, string> = {}): Promise<StoredTrace[]> {
  const response = await fetch(`${server.url}${path}/_understudy/traces`, { headers })
  return ((await response.json()) as { data: StoredTrace[] }).data
}
async function pending(path: string): Promise<number> {
  const response = await fetch(`${server.url}${path}/_understudy/verify`)
  return ((await response.json()) as { pending: number }).pending
}
const traceOf = async (id: string | null) =>
  (await (await fetch(`${server.url}/_understudy/traces/${id}`)).json()) as StoredTrace

describe('OpenAI SDK whole response', () => {
  test('has its usage, headers and trace', async () => {
    const { data, response } = await client.chat.completions.create(say('Hello!')).withResponse()
    expect(data).toMatchObject({ object: 'chat.completion', model })
    expect(data.choices).toHaveLength(1)
    expect(data.choices[0]).toMatchObject({ index: 0, finish_reason: 'stop', message: { role: 'assistant' } })
    expect(data.choices[0]?.message.content).toContain('"Hello!"')
    // 3 tokens to open, 3 + 1 of the role + 2 of the text.
    expect(data.usage?.prompt_tokens).toBe(9)
    expect(data.usage?.total_tokens).toBe(9 + (data.usage?.completion_tokens ?? 0))
    const header = (name: string) => response.headers.get(`x-understudy-${name}`)
    expect(['attempts', 'fallback', 'cache', 'model', 'session', 'faults'].map(header)).toEqual([
      '1',
      '0',
      'off',
      model,
      'default',
      '',
    ])
    const trace = await traceOf(header('trace'))
    expect(trace).toMatchObject({
      status: 200,
      outcome: 'succeeded',
      stream: false,
      model,
      response: data,
      request: say('Hello!'),
    })
  })

  test('has two choices', async () => {
    const one = await client.chat.completions.create(say('count'))
    const two = await client.chat.completions.create({ ...say('count'), n: 2 })
    expect(two.choices.map(({ index, message }) => [index, message.content])).toEqual([
      [0, COUNT],
      [1, COUNT],
    ])
    expect(two.usage?.completion_tokens).toBe(2 * (one.usage?.completion_tokens ?? 0))
  })

  const cuts: [string, object, string, string][] = [
    ['max_tokens', { max_tokens: 3 }, 'one two three', 'length'],
    ['max_completion_tokens, over max_tokens', { max_completion_tokens: 2, max_tokens: 5 }, 'one two', 'length'],
    ['exactly enough tokens', { max_tokens: 8 }, COUNT, 'stop'],
    ['a stop sequence', { stop: ' four' }, 'one two three', 'stop'],
    ['the first of several stop sequences', { stop: ['seven', ' five', 'six'] }, 'one two three four', 'stop'],
    ['a stop sequence that does not occur', { stop: 'nine' }, COUNT, 'stop'],
  ]
  test.each(cuts)('is cut by %s', async (_, options, content, finish) => {
    const { choices } = await client.chat.completions.create({ ...say('count'), ...options })
    expect([choices[0]?.message.content ?? '', choices[0]?.finish_reason ?? '']).toEqual([content, finish])
    const stream = client.chat.completions.stream({ ...say('count'), ...options })
    expect(await stream.finalContent()).toBe(content)
    expect((await stream.finalChatCompletion()).choices[0]?.finish_reason as string).toBe(finish)
  })
})

describe('OpenAI SDK streamed response', () => {
  test('arrives chunk by chunk', async () => {
    const { data: stream, response } = await client.chat.completions
      .create({ ...say('count'), stream: true })
      .withResponse()
    const chunks = await Array.fromAsync(stream)
    expect(chunks[0]?.choices[0]?.delta.role).toBe('assistant')
    expect(chunks.map((chunk) => chunk.choices[0]?.delta.content ?? '').join('')).toBe(COUNT)
    expect(chunks.at(-1)?.choices[0]?.finish_reason).toBe('stop')
    expect(new Set(chunks.map(({ id }) => id)).size).toBe(1)
    expect(chunks.every((chunk) => chunk.usage == null)).toBe(true)
    const trace = await traceOf(response.headers.get('x-understudy-trace'))
    expect(trace).toMatchObject({ outcome: 'succeeded', stream: true })
    expect(trace.response).toMatchObject({ choices: [{ message: { content: COUNT }, finish_reason: 'stop' }] })
  })

  test('has two choices and the usage with the helper', async () => {
    const whole = await client.chat.completions.create({ ...say('count'), n: 2 })
    const stream = client.chat.completions.stream({ ...say('count'), n: 2, stream_options: { include_usage: true } })
    const final = await stream.finalChatCompletion()
    expect(final.choices.map(({ message }) => message.content)).toEqual([COUNT, COUNT])
    expect(final.usage).toEqual(whole.usage)
  })

  test('has one chunk without choices with include_usage, and null usage in the others', async () => {
    const stream = await client.chat.completions.create({
      ...say('count'),
      stream: true,
      stream_options: { include_usage: true },
    })
    const chunks = await Array.fromAsync(stream)
    const last = chunks.pop()
    expect(last?.choices).toEqual([])
    expect(last?.usage?.completion_tokens).toBe(8)
    expect(chunks.every(({ usage, choices }) => usage === null && choices.length === 1)).toBe(true)
  })

  test('an aborted stream is recorded as canceled', async () => {
    const { data: stream, response } = await client.chat.completions
      .create({ ...say('for ever'), stream: true })
      .withResponse()
    for await (const chunk of stream) {
      if (chunk.choices[0]?.delta.content) break
    }
    stream.controller.abort()
    const id = response.headers.get('x-understudy-trace')
    let trace = await traceOf(id)
    for (let tries = 0; trace.outcome === undefined && tries < 200; tries++) trace = await traceOf(id)
    expect(trace).toMatchObject({ outcome: 'canceled', stream: true })
    expect(trace.response).toMatchObject({ choices: [{ message: { content: 'one' }, finish_reason: null }] })
  })

  test('an aborted whole answer is recorded as canceled', async () => {
    const mine = clientOf({ defaultHeaders: { 'x-understudy-session': 'aborted' } })
    const controller = new AbortController()
    const call = mine.chat.completions.create(say('for ever'), { signal: controller.signal })
    const ended = call.catch((error: Error) => error.name)
    // Two requests on two connections may come in any order: the first is there before the other is sent.
    while ((await pending('/s/aborted')) === 0);
    await mine.chat.completions.create(say('count'))
    controller.abort()
    expect(await ended).toBeString()
    let all = await traces('/s/aborted')
    for (let tries = 0; all.length < 2 && tries < 200; tries++) all = await traces('/s/aborted')
    expect(all.map(({ outcome }) => outcome)).toEqual(['succeeded', 'canceled'])
  })

  test('an aborted stream below a prefix is canceled too', async () => {
    const mine = clientOf({ baseURL: `${server.url}/s/prefix-aborted/v2/router` })
    const stream = await mine.chat.completions.create({ ...say('for ever'), stream: true })
    for await (const chunk of stream) if (chunk.choices[0]?.delta.content) break
    stream.controller.abort()
    let all = await traces('/s/prefix-aborted')
    for (let tries = 0; all.length < 1 && tries < 200; tries++) all = await traces('/s/prefix-aborted')
    expect(all.map(({ outcome }) => outcome)).toEqual(['canceled'])
  })
})

describe('OpenAI SDK error', () => {
  const failed = async (call: Promise<unknown>) => {
    const error = await call.then(
      () => undefined,
      (reason: unknown) => reason,
    )
    expect(error).toBeInstanceOf(APIError)
    return error as APIError
  }

  test('is a BadRequestError that names an invalid field', async () => {
    const error = await failed(client.chat.completions.create({ ...say('x'), temperature: 3 }))
    expect(error).toBeInstanceOf(BadRequestError)
    expect(error).toMatchObject({ status: 400, param: 'temperature', type: 'invalid_request_error' })
    expect(error.message).toContain('at most 2')
  })

  test('is the same for a streamed call', async () => {
    const error = await failed(client.chat.completions.create({ ...say('x'), n: 0, stream: true }))
    expect(error).toMatchObject({ status: 400, param: 'n' })
  })

  test('is a NotFoundError for an unknown provider', async () => {
    const error = await failed(client.chat.completions.create({ ...say('x'), model: 'nobody/gpt' }))
    expect(error).toBeInstanceOf(NotFoundError)
    expect(error).toMatchObject({ status: 404, code: 'model_not_found', param: 'model' })
  })

  test('is a NotFoundError for an unknown path', async () => {
    expect(await failed(client.files.list().asResponse())).toMatchObject({ status: 404, code: 'unknown_path' })
  })

  test('is an AuthenticationError without a token', async () => {
    const error = await failed(clientOf({ defaultHeaders: { authorization: null } }).chat.completions.create(say('x')))
    expect(error).toBeInstanceOf(AuthenticationError)
    expect(error.message).toContain('Bearer')
  })
})
