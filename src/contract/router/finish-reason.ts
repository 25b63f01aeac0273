// Why an answer ended: what schemas of answers, of fixtures and of requests say of it.
import { z } from 'zod'

/** Why a choice ended. */
export const FinishReason = z.enum(['stop', 'length', 'tool_calls', 'content_filter', 'function_call'])
export type FinishReason = z.infer<typeof FinishReason>
