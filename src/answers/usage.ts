// The token counts in a response.
import type { Usage } from '../contract/router/chat.ts'
import type { TextScript } from '../contract/router/script.ts'
import { sumOf } from '../lib/values.ts'
import type { TextAnswer } from './text-answer.ts'

/** Details of the token counts that only some calls have. */
interface UsageDetails {
  cached?: number
  cacheCreation?: number
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
  const { cached = 0, cacheCreation = 0, audioIn = 0, audioOut = 0 } = details
  const spoken = audioOut + sumOf(answers, ({ tokens }) => tokens)
  const prompt = script.usage?.prompt_tokens ?? promptTokens
  const completion = script.usage?.completion_tokens ?? spoken
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    prompt_tokens_details: { cached_tokens: cached, cache_creation_tokens: cacheCreation, audio_tokens: audioIn },
    completion_tokens_details: {
      reasoning_tokens: sumOf(answers, ({ reasoningTokens }) => reasoningTokens),
      accepted_prediction_tokens: 0,
      rejected_prediction_tokens: 0,
      audio_tokens: audioOut,
    },
  }
}
