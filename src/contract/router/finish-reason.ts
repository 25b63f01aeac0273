// Finish reasons, for schemas of responses, fixtures and requests.
import { z } from 'zod'

/** Why a choice ended. */
export const FinishReason = z.enum(['stop', 'length', 'tool_calls', 'content_filter', 'function_call'])
export type FinishReason = z.infer<typeof FinishReason>
