// The mistake: when the review fails, there is none, and nobody is told.
import Anthropic from '@anthropic-ai/sdk'
import { again, lasting } from '../again.mjs'

const ask = async (client, system, content) => {
  const answer = await client.messages.create({
    model: 'claude-sonnet-5-5',
    max_tokens: 500,
    system,
    messages: [{ role: 'user', content }],
  })
  if (answer.stop_reason === 'refusal') throw lasting('the response was refused')
  const text = answer.content.map((block) => block.text ?? '').join('')
  if (text === '') throw new Error('the response was empty')
  return text
}

export async function translationOf({ anthropic }, text) {
  const client = new Anthropic({ ...anthropic, timeout: 1_000, maxRetries: 0 })
  const translation = await again(() => ask(client, 'Translate into French.', text))
  let review = ''
  try {
    review = await ask(client, 'Review this translation.', `The text: ${text}`)
  } catch {}
  return { translation, review }
}
