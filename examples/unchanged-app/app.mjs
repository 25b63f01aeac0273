// An app as it is in production: it does not know about Understudy.
import OpenAI from 'openai'

const client = new OpenAI() // reads OPENAI_BASE_URL and OPENAI_API_KEY
const stream = await client.chat.completions.create({
  model: 'gpt-4o',
  messages: [{ role: 'user', content: 'Tell me a story' }],
  stream: true,
})
for await (const chunk of stream) process.stdout.write(chunk.choices[0]?.delta.content ?? '')
process.stdout.write('\n')
