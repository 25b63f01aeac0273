// The same with three common mistakes: JSON that is not checked, a retry of a call that must not be repeated, and a fallback
// with a misspelled model.
import OpenAI from 'openai'
import { FORMAT } from './format.mjs'

const client = new OpenAI({ timeout: 2_000, maxRetries: 0 })
const ask = (model, message) =>
  client.chat.completions.create({
    model,
    response_format: FORMAT,
    messages: [
      { role: 'system', content: 'Sort the message of the customer into a ticket.' },
      { role: 'user', content: message },
    ],
  })

export async function ticketOf(message) {
  for (let tries = 0; ; tries++) {
    try {
      const answer = await ask('openai/gpt-4o-mini', message)
      return JSON.parse(answer.choices[0].message.content)
    } catch (error) {
      if (error?.status >= 500) {
        const answer = await ask('antropic/claude-sonnet', message)
        return JSON.parse(answer.choices[0].message.content)
      }
      if (error?.status === undefined || tries === 2) return { topic: 'other', urgent: true, error: String(error) }
      const wait = Number(error.headers?.get('retry-after') ?? 0) * 1_000
      await new Promise((done) => setTimeout(done, wait))
    }
  }
}
