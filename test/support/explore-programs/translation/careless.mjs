// The mistake: when the review fails, there is none, and nobody is told.
import Anthropic from '@anthropic-ai/sdk'
import { again, lasting } from '../again.mjs'

const client = new Anthropic({ timeout: 1_000, maxRetries: 0 })

const ask = async (system, content) => {
  const answer = await client.messages.create({
    model: 'claude-sonnet-4-5',
    max_tokens: 500,
    system,
    messages: [{ role: 'user', content }],
  })
  if (answer.stop_reason === 'refusal') throw lasting('the response was refused')
  const text = answer.content.map((block) => block.text ?? '').join('')
  if (text === '') throw new Error('the response was empty')
  return text
}

export async function translationOf(text) {
  const translation = await again(() => ask('Translate into French.', text))
  let review = ''
  try {
    review = await ask('Review this translation.', `The text: ${text}`)
  } catch {}
  return { translation, review }
}
