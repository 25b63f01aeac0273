// A program that makes one call: who makes it, whole or as a stream, and after how many ms it gives up (none: never).
import Anthropic from '@anthropic-ai/sdk'
import type { LanguageModel } from 'ai'
import OpenAI from 'openai'
import { API_KEY, BASE_URL, say } from './surroundings.ts'

const [who = 'fetch', how = 'whole', limit, path = '/chat/completions', more = '{}'] = process.argv.slice(2)
const timeout = limit === undefined || limit === '-' ? undefined : Number(limit)
const stream = how === 'stream'
const messages = [{ role: 'user' as const, content: 'Hello!' }]

// Loaded where it is called: the other programs begin sooner.
async function withAiSdk(model: LanguageModel): Promise<void> {
  const { generateText, streamText } = await import('ai')
  const abortSignal = timeout === undefined ? undefined : AbortSignal.timeout(timeout)
  const call = { model, messages, maxRetries: 0, ...(abortSignal && { abortSignal }) }
  if (!stream) return void (await generateText(call))
  let failure: unknown
  const { fullStream } = streamText({ ...call, onError: ({ error }) => void (failure = error) })
  for await (const { type } of fullStream) if (type === 'abort') throw new Error('aborted')
  if (failure) throw failure
}

const clients: Record<string, () => Promise<unknown>> = {
  async fetch() {
    const response = await fetch(`${BASE_URL}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${API_KEY}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'openai/gpt-4o', messages, stream, ...JSON.parse(more) }),
      ...(timeout !== undefined && { signal: AbortSignal.timeout(timeout) }),
    })
    return response.text()
  },
  async openai() {
    const client = new OpenAI({ maxRetries: 0 })
    const options = timeout === undefined ? {} : { timeout, signal: AbortSignal.timeout(timeout) }
    const call = { model: 'gpt-4o', messages }
    if (!stream) return client.chat.completions.create(call, options)
    for await (const _ of await client.chat.completions.create({ ...call, stream: true }, options));
    return undefined
  },
  async responses() {
    const client = new OpenAI({ maxRetries: 0 })
    const options = timeout === undefined ? {} : { timeout, signal: AbortSignal.timeout(timeout) }
    const call = { model: 'gpt-4o', input: 'Hello!' }
    if (!stream) return client.responses.create(call, options)
    for await (const _ of await client.responses.create({ ...call, stream: true }, options));
    return undefined
  },
  'ai-openai': () => import('@ai-sdk/openai').then(({ createOpenAI }) => withAiSdk(createOpenAI()('gpt-4o'))),
  'ai-anthropic': () =>
    import('@ai-sdk/anthropic').then(({ createAnthropic }) => withAiSdk(createAnthropic()('claude-sonnet-4'))),
  async anthropic() {
    const client = new Anthropic({ maxRetries: 0 })
    const options = timeout === undefined ? {} : { timeout, signal: AbortSignal.timeout(timeout) }
    const call = { model: 'claude-sonnet-4', max_tokens: 100, messages }
    if (!stream) return client.messages.create(call, options)
    for await (const _ of await client.messages.create({ ...call, stream: true }, options));
    return undefined
  },
}

await clients[who]?.().then(
  () => say('answered'),
  (error: Error) => {
    say(`failed: ${error.name}`)
    process.exitCode = 1
  },
)
