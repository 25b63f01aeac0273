// The mistake: streamText does not throw, so the text of a failed call is empty.
import { createOpenAI } from '@ai-sdk/openai'
import { streamText } from 'ai'

const openai = createOpenAI()

export async function poemOf(topic) {
  const { textStream } = streamText({
    ...{ model: openai.chat('gpt-4o'), maxRetries: 0, prompt: `A poem about ${topic}.` },
    abortSignal: AbortSignal.timeout(2_000),
  })
  let poem = ''
  for await (const text of textStream) poem += text
  return poem
}
