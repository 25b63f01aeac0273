// The program: answers a customer with a model of OpenAI, or with one of Anthropic when OpenAI is down.
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'

/** Where the providers are, as their SDKs take it. */
export interface Providers {
  openai: { baseURL: string; apiKey: string }
  anthropic: { baseURL: string; apiKey: string }
}

const INSTRUCTIONS = 'You answer customers of a shop in one sentence.'
const TIMEOUT_MS = 5_000

/** The answer to a customer's question. */
export async function answerTo(question: string, { openai, anthropic }: Providers): Promise<string> {
  try {
    const client = new OpenAI({ ...openai, timeout: TIMEOUT_MS })
    const completion = await client.chat.completions.create({
      model: 'gpt-4o',
      messages: [
        { role: 'system', content: INSTRUCTIONS },
        { role: 'user', content: question },
      ],
    })
    return completion.choices[0]?.message.content ?? ''
  } catch (error) {
    // A request that is wrong here is wrong there.
    if (error instanceof OpenAI.BadRequestError) throw error
    const client = new Anthropic({ ...anthropic, timeout: TIMEOUT_MS })
    const message = await client.messages.create({
      model: 'claude-sonnet-5',
      max_tokens: 200,
      system: INSTRUCTIONS,
      messages: [{ role: 'user', content: question }],
    })
    return message.content.map((block) => (block.type === 'text' ? block.text : '')).join('')
  }
}
