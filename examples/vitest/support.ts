// The program: answers a customer by a model, with a second model for bad days.
import OpenAI from 'openai'

/** Where the models are. */
export interface Gateway {
  baseURL: string
  apiKey: string
}

/** The answer to a customer's question. */
export async function answerTo(question: string, gateway: Gateway): Promise<string> {
  const client = new OpenAI({ ...gateway, maxRetries: 0 })
  const answer = await client.chat.completions.create({
    model: 'openai/gpt-4o-mini',
    messages: [
      { role: 'system', content: 'You answer customers of a shop in one sentence.' },
      { role: 'user', content: question },
    ],
    // What the gateway does for us when a model refuses.
    ...{ retry: { count: 2, on_codes: [429, 503] }, fallbacks: [{ model: 'anthropic/claude-sonnet-4-5' }] },
  })
  return answer.choices[0]?.message.content ?? ''
}
