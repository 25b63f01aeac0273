// An app as it is in production: it does not know about Understudy.
import Anthropic from '@anthropic-ai/sdk'

const client = new Anthropic() // reads ANTHROPIC_BASE_URL and ANTHROPIC_API_KEY
const stream = client.messages.stream({
  model: 'claude-sonnet-5',
  max_tokens: 200,
  messages: [{ role: 'user', content: 'Tell me a story' }],
})
stream.on('text', (text) => process.stdout.write(text))
await stream.finalMessage()
process.stdout.write('\n')
