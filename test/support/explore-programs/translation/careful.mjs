import Anthropic from '@anthropic-ai/sdk'
import { again, lasting } from '../again.mjs'

const ask = (client, system, content) =>
  again(async () => {
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
  })

export async function translationOf({ anthropic }, text) {
  const client = new Anthropic({ ...anthropic, timeout: 1_000, maxRetries: 0 })
  const translation = await ask(client, 'Translate into French.', text)
  return { translation, review: await ask(client, 'Review this translation.', `The text: ${text}`) }
}
