// The token counts in a response.
import type { Usage } from '../contract/router/chat.ts'
import type { TextScript } from '../contract/router/script.ts'
import { sumOf } from '../lib/values.ts'
import type { TextAnswer } from './text-answer.ts'

/** Details of the token counts that only some calls have. */
interface UsageDetails {
  cached?: number | undefined
  cacheCreation?: number | undefined
  audioIn?: number
  audioOut?: number
}

/** The usage object of the responses to one prompt; a script's own counts take precedence. */
export function usageOf(
  script: TextScript,
  promptTokens: number,
  answers: readonly TextAnswer[],
  details: UsageDetails = {},
): Usage {
  const spoken = (details.audioOut ?? 0) + sumOf(answers, ({ tokens }) => tokens)
  return usageWith(script.usage?.prompt_tokens ?? promptTokens, script.usage?.completion_tokens ?? spoken, {
    ...details,
    reasoning: sumOf(answers, ({ reasoningTokens }) => reasoningTokens),
  })
}

/** The usage object with these counts. */
export const usageWith = (
  prompt: number,
  completion: number,
  { cached, cacheCreation, audioIn, audioOut, reasoning }: UsageDetails & { reasoning: number | undefined },
): Usage => ({
  prompt_tokens: prompt,
  completion_tokens: completion,
  total_tokens: prompt + completion,
  prompt_tokens_details: {
    cached_tokens: cached ?? 0,
    cache_creation_tokens: cacheCreation ?? 0,
    audio_tokens: audioIn ?? 0,
  },
  completion_tokens_details: {
    reasoning_tokens: reasoning ?? 0,
    accepted_prediction_tokens: 0,
    rejected_prediction_tokens: 0,
    audio_tokens: audioOut ?? 0,
  },
})
