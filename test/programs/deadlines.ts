// A program that makes one call: who makes it, whole or as a stream, and after how many ms it gives up (none: never).
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { API_KEY, BASE_URL, say } from './surroundings.ts'

const [who = 'fetch', how = 'whole', limit, path = '/chat/completions', more = '{}'] = process.argv.slice(2)
const timeout = limit === undefined || limit === '-' ? undefined : Number(limit)
const stream = how === 'stream'
const messages = [{ role: 'user' as const, content: 'Hello!' }]

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
