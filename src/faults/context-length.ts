// context-length: the input is too long for the model.
import { z } from 'zod'
import { modelOf } from '../providers/catalogue.ts'
import { defineFault } from './define.ts'
import { refusal, refusalOptions } from './refusal.ts'

/** Context window of models that are not listed. */
const DEFAULT_WINDOW = 128_000

/** Tests how a client handles an input that exceeds the context window, in tokens; a retry cannot help. */
export const contextLength = defineFault({
  type: 'context-length',
  summary: 'The request is rejected because the input exceeds the context window of the model.',
  options: {
    limit: z
      .int()
      .min(0)
      .optional()
      .describe('Context limit in tokens. Only longer inputs are rejected. If omitted, every input is.'),
    ...refusalOptions,
  },
  async apply({ limit, ...options }, next, context) {
    const { operation, request, model } = context
    const tokens = operation.promptTokens?.(request) ?? 0
    if (limit !== undefined && tokens <= limit) {
      context.skipped(`the input has no more than ${limit} tokens`)
      return next()
    }
    context.triggered()
    const window = limit ?? modelOf(model)?.context ?? DEFAULT_WINDOW
    return refusal(
      context,
      { problem: 'context-length', limit: window, requested: Math.max(tokens, window + 1) },
      options,
    )
  },
})
