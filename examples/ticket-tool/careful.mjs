// Turns a customer's message into a ticket, with the OpenAI SDK. It creates a ticket whatever the model does.
import OpenAI from 'openai'
import { FORMAT } from './format.mjs'

const client = new OpenAI({ timeout: 2_000, maxRetries: 1 })
const MODELS = ['openai/gpt-4o-mini', 'anthropic/claude-sonnet-4-5']
/** What somebody has to look at. */
const BY_HAND = { topic: 'other', urgent: true }

export async function ticketOf(message) {
  let last
  for (const model of MODELS) {
    try {
      const answer = await client.chat.completions.create({
        model,
        response_format: FORMAT,
        messages: [
          { role: 'system', content: 'Sort the message of the customer into a ticket.' },
          { role: 'user', content: message },
        ],
      })
      const ticket = JSON.parse(answer.choices[0].message.content)
      if (typeof ticket.urgent === 'boolean') return ticket
      last = new Error('the ticket is incomplete')
    } catch (error) {
      last = error
      // Another model may do what this one did not; a request that is wrong stays wrong.
      if ([400, 401].includes(error?.status)) break
    }
  }
  // Whoever reads the log sees why.
  console.error(`sorted by hand: ${last}`)
  return BY_HAND
}
