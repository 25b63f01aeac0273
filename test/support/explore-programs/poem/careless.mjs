// The mistake: streamText does not throw, so the text of a failed call is empty.
import { createOpenAI } from '@ai-sdk/openai'
import { streamText } from 'ai'

export async function poemOf({ openai }, topic) {
  const { textStream } = streamText({
    ...{ model: createOpenAI(openai).chat('gpt-4o'), maxRetries: 0, prompt: `A poem about ${topic}.` },
    abortSignal: AbortSignal.timeout(2_000),
    onError() {},
  })
  let poem = ''
  for await (const text of textStream) poem += text
  return poem
}
