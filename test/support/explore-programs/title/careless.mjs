// The mistake: no retries.
import OpenAI from 'openai'

export async function titleOf({ openai }, article) {
  const client = new OpenAI({ ...openai, timeout: 1_000, maxRetries: 0 })
  const answer = await client.chat.completions.create({
    model: 'openai/gpt-4o-mini',
    messages: [{ role: 'user', content: `A title for this article: ${article}` }],
  })
  return answer.choices[0].message.content
}
