import Anthropic from '@anthropic-ai/sdk'
import { lasting } from '../again.mjs'

export async function summaryOf({ anthropic }, chapter) {
  const client = new Anthropic({ ...anthropic, timeout: 1_000, maxRetries: 0 })
  const answer = await client.messages.create({
    ...{ model: 'claude-sonnet-5-5', max_tokens: 200, system: 'Sum up a chapter.' },
    messages: [{ role: 'user', content: chapter }],
  })
  if (answer.stop_reason === 'refusal') throw lasting('the summary was refused')
  const text = answer.content.map((block) => block.text ?? '').join('')
  if (text === '') throw new Error('the response was empty')
  return text
}
