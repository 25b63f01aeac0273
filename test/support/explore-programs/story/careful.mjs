import OpenAI from 'openai'
import { again, lasting, patience } from '../again.mjs'

export function storyOf({ openai }, topic) {
  const client = new OpenAI({ ...openai, timeout: 1_000, maxRetries: 0 })
  return again(async () => {
    const { signal, heard, end } = patience(1_000)
    try {
      const stream = await client.chat.completions.create(
        { model: 'gpt-4o', stream: true, messages: [{ role: 'user', content: `A story about ${topic}.` }] },
        { signal },
      )
      let story = ''
      let finish
      for await (const { choices } of stream) {
        heard()
        story += choices[0]?.delta.content ?? ''
        finish = choices[0]?.finish_reason ?? finish
      }
      if (finish === 'content_filter') throw lasting('the story was filtered')
      if (finish !== 'stop' || story === '') throw new Error('the stream broke off')
      return story
    } finally {
      end()
    }
  })
}
