// The mistake: no retries.
import OpenAI from 'openai'

const client = new OpenAI({ timeout: 1_000, maxRetries: 0 })

export async function titleOf(article) {
  const answer = await client.chat.completions.create({
    model: 'openai/gpt-4o-mini',
    messages: [{ role: 'user', content: `A title for this article: ${article}` }],
  })
  return answer.choices[0].message.content
}
