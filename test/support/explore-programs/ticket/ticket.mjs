// A ticket with the AI SDK, by the responses API.
import { createOpenAI } from '@ai-sdk/openai'
import { generateText, Output } from 'ai'
import { z } from 'zod'

const schema = z.object({ topic: z.enum(['delivery', 'invoice', 'other']), urgent: z.boolean() })

export async function ticketIn(connection, prompt) {
  const limited = (url, init) => connection.fetch(url, { ...init, signal: AbortSignal.timeout(1_000) })
  const openai = createOpenAI({ ...connection, fetch: limited })
  const { output } = await generateText({
    ...{ model: openai('gpt-4o-mini'), maxRetries: 0, output: Output.object({ schema }), prompt },
  })
  return output
}
