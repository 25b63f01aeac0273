// context-length: the input is too long for the model.
import { z } from 'zod'
import { modelOf } from '../providers/catalogue.ts'
import { defineFault } from './define.ts'
import { refusal, refusalOptions } from './refusal.ts'

/** What a model takes that is not listed. */
const USUAL = 128_000

/** Tests how a client handles an input that exceeds the context window, in tokens; a retry cannot help. */
export const contextLength = defineFault({
  type: 'context-length',
  summary: 'The request is rejected because the input exceeds the context window of the model.',
  points: ['provider', 'gateway'],
  options: {
    limit: z
      .int()
      .min(0)
      .optional()
      .describe('Context limit in tokens. Only longer inputs are rejected. If omitted, every input is.'),
    ...refusalOptions,
  },
  example: {},
  async apply({ limit, ...given }, next, context) {
    const { operation, request, model } = context
    const tokens = operation.promptTokens?.(request) ?? 0
    if (limit !== undefined && tokens <= limit) {
      context.skipped(`the input has no more than ${limit} tokens`)
      return next()
    }
    context.triggered()
    const most = limit ?? modelOf(model)?.context ?? USUAL
    return refusal(context, { problem: 'context-length', limit: most, asked: Math.max(tokens, most + 1) }, given)
  },
})
