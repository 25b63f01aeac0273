// A program that makes one call: who makes it, whole or as a stream, and after how many ms it gives up (none: never):
// deadlines WHO whole|stream LIMIT PATH MORE.
import Anthropic from '@anthropic-ai/sdk'
import type { LanguageModel } from 'ai'
import OpenAI from 'openai'
import { behaviorOf, connectionOf, type Program, type Surroundings } from './surroundings.ts'

const messages = [{ role: 'user' as const, content: 'Hello!' }]

/** The one call. */
interface Call {
  stream: boolean
  timeout: number | undefined
  path: string
  more: object
}
type Caller = (call: Call, about: Surroundings) => Promise<unknown>

const deadlineOf = ({ timeout }: Call) =>
  timeout === undefined ? {} : { timeout, signal: AbortSignal.timeout(timeout) }

// Loaded where it is called: the other programs begin sooner.
async function withAiSdk(model: LanguageModel, { stream, timeout }: Call): Promise<void> {
  const { generateText, streamText } = await import('ai')
  const abortSignal = timeout === undefined ? undefined : AbortSignal.timeout(timeout)
  const call = { model, messages, maxRetries: 0, ...(abortSignal && { abortSignal }) }
  if (!stream) return void (await generateText(call))
  let failure: unknown
  const { fullStream } = streamText({ ...call, onError: ({ error }) => void (failure = error) })
  for await (const { type } of fullStream) if (type === 'abort') throw new Error('aborted')
  if (failure) throw failure
}

const clients: Record<string, Caller> = {
  async fetch({ stream, timeout, path, more }, { env, fetch }) {
    const response = await fetch(`${env.OPENAI_BASE_URL}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${env.OPENAI_API_KEY}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'openai/gpt-4o', messages, stream, ...more }),
      ...(timeout !== undefined && { signal: AbortSignal.timeout(timeout) }),
    })
    return response.text()
  },
  async openai(call, about) {
    const client = new OpenAI({ maxRetries: 0, ...connectionOf(about).openai })
    const body = { model: 'gpt-4o', messages }
    if (!call.stream) return client.chat.completions.create(body, deadlineOf(call))
    for await (const _ of await client.chat.completions.create({ ...body, stream: true }, deadlineOf(call)));
    return undefined
  },
  async responses(call, about) {
    const client = new OpenAI({ maxRetries: 0, ...connectionOf(about).openai })
    const body = { model: 'gpt-4o', input: 'Hello!' }
    if (!call.stream) return client.responses.create(body, deadlineOf(call))
    for await (const _ of await client.responses.create({ ...body, stream: true }, deadlineOf(call)));
    return undefined
  },
  async 'ai-openai'(call, about) {
    const { createOpenAI } = await import('@ai-sdk/openai')
    return withAiSdk(createOpenAI(connectionOf(about).openai)('gpt-4o'), call)
  },
  async 'ai-anthropic'(call, about) {
    const { createAnthropic } = await import('@ai-sdk/anthropic')
    return withAiSdk(createAnthropic(connectionOf(about).anthropic)('claude-sonnet-4'), call)
  },
  async anthropic(call, about) {
    const client = new Anthropic({ maxRetries: 0, ...connectionOf(about).anthropic })
    const body = { model: 'claude-sonnet-4', max_tokens: 100, messages }
    if (!call.stream) return client.messages.create(body, deadlineOf(call))
    for await (const _ of await client.messages.create({ ...body, stream: true }, deadlineOf(call)));
    return undefined
  },
}

export const deadlines = (
  who = 'fetch',
  how = 'whole',
  limit = '-',
  path = '/chat/completions',
  more = '{}',
): Program => {
  const call = behaviorOf(clients, who)
  const timeout = limit === '-' ? undefined : Number(limit)
  return (about) =>
    call({ stream: how === 'stream', timeout, path, more: JSON.parse(more) }, about).then(
      () => about.say('succeeded'),
      (error: Error) => {
        about.say(`failed: ${error.name}`)
        return 1
      },
    )
}
