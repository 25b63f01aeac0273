import Anthropic from '@anthropic-ai/sdk'
import { again, lasting } from '../again.mjs'

const client = new Anthropic({ timeout: 1_000, maxRetries: 0 })

const ask = (system, content) =>
  again(async () => {
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
  })

export async function translationOf(text) {
  const translation = await ask('Translate into French.', text)
  return { translation, review: await ask('Review this translation.', `The text: ${text}`) }
}
