// The mistake: a stream that breaks off counts as complete.
import OpenAI from 'openai'

export async function storyOf({ openai }, topic) {
  const client = new OpenAI({ ...openai, timeout: 1_000, maxRetries: 2 })
  const stream = await client.chat.completions.create({
    model: 'gpt-4o',
    stream: true,
    messages: [{ role: 'user', content: `A story about ${topic}.` }],
  })
  const deadline = setTimeout(() => stream.controller.abort(), 3_000)
  let story = ''
  try {
    for await (const { choices } of stream) story += choices[0]?.delta.content ?? ''
  } catch {}
  clearTimeout(deadline)
  return story
}
