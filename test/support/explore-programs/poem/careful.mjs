import { createOpenAI } from '@ai-sdk/openai'
import { streamText } from 'ai'
import { again, lasting, patience } from '../again.mjs'

export const poemOf = ({ openai }, topic) =>
  again(async () => {
    const { signal, heard, end } = patience(1_000)
    try {
      const { fullStream } = streamText({
        ...{
          model: createOpenAI(openai).chat('gpt-4o'),
          maxRetries: 0,
          prompt: `A poem about ${topic}.`,
          abortSignal: signal,
        },
        onError() {},
      })
      let poem = ''
      let finish
      for await (const part of fullStream) {
        heard()
        if (part.type === 'error') throw part.error
        if (part.type === 'abort') throw new Error('the stream stalled')
        if (part.type === 'text-delta') poem += part.text
        if (part.type === 'finish') finish = part.finishReason
      }
      if (finish === 'content-filter') throw lasting('the poem was filtered')
      if (finish !== 'stop' || poem === '') throw new Error('the stream broke off')
      return poem
    } finally {
      end()
    }
  })
