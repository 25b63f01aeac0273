// An agent of the AI SDK with a tool that costs money, and a letter about what it did.
import { createOpenAI } from '@ai-sdk/openai'
import { generateText, isStepCount, tool } from 'ai'
import { z } from 'zod'
import { lasting } from '../again.mjs'

export async function refundWith(connection, complaint, refund) {
  const model = createOpenAI(connection).chat('openai/gpt-4o')
  const issue_refund = tool({
    description: 'Pays an order back.',
    inputSchema: z.object({ order: z.string() }),
    execute: async ({ order }) => ({ refunded: await refund(order) }),
  })
  const { text, finishReason } = await generateText({
    ...{ model, maxRetries: 0, tools: { issue_refund }, stopWhen: isStepCount(4), prompt: complaint },
    prepareStep: ({ stepNumber }) => ({ toolChoice: stepNumber === 0 ? 'required' : 'auto' }),
  })
  if (finishReason === 'content-filter') throw lasting('the response was filtered')
  const letter = await generateText({ model, maxRetries: 0, prompt: `A letter to the customer: ${text}` })
  if (letter.finishReason === 'content-filter' || letter.text === '') throw lasting('there is no letter')
  return letter.text
}
