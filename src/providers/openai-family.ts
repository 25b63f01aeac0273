// Errors and quota headers of OpenAI and compatible providers.

import type { CompatibleApi } from '../contract/core/wire.ts'
import { errorFormat, seconds } from './error-messages.ts'
import type { QuotaCountdown } from './quota-headers.ts'

/** The provider of models without one. */
export const ASSUMED_PROVIDER = 'openai'

/** Their compatible API. */
export const FAMILY_API: CompatibleApi = 'openai'

/** Creates an error response in their format. */
export const openaiError = errorFormat(({ problem, model, limit, requested, retryAfter, unit, id }) => {
  const kept = unit === 'tokens' ? 'tokens per min (TPM)' : 'requests per min (RPM)'
  const counted = limit === undefined ? '' : `: limit ${limit}, requested ${requested}`
  const wait = retryAfter === undefined ? '' : ` Please try again in ${seconds(retryAfter)}.`
  return {
    words: {
      'rate-limit': [429, `Rate limit reached for ${model} on ${kept}${counted}.${wait}`],
      'auth-failure': [401, 'Incorrect API key provided.'],
      'context-length': [
        400,
        `This model's maximum context length is ${limit} tokens, but the input has ${requested} tokens. Please shorten it.`,
        'context_length_exceeded',
      ],
      'content-filter': [400, 'The request was rejected by the safety system.', 'content_policy_violation'],
      'quota-exceeded': [429, 'You exceeded your current quota: look at your plan and billing.', 'insufficient_quota'],
      'model-not-found': [
        404,
        `The model \`${model}\` does not exist or you do not have access to it.`,
        'model_not_found',
      ],
      overloaded: [503, 'Our servers are currently overloaded. Please try again later.', 'server_is_overloaded'],
    },
    names: { 400: '', 401: 'invalid_api_key', 404: 'not_found', 429: 'rate_limit_exceeded', 500: '' },
    shape: (status, message, code) => {
      const limited = problem === 'quota-exceeded' ? code : unit
      const failed = problem === 'overloaded' ? 'service_unavailable_error' : 'server_error'
      const type = status === 429 ? limited : status >= 500 ? failed : 'invalid_request_error'
      const param = problem === 'context-length' ? 'messages' : null
      return {
        status,
        headers: { 'x-request-id': `req_${id}` },
        body: { error: { message, type, param, code: code || null } },
      }
    },
  }
})

/** Their quota headers. */
export const openaiQuota: QuotaCountdown = (unit, { limit, remaining, resets }, now) => ({
  [`x-ratelimit-limit-${unit}`]: limit,
  [`x-ratelimit-remaining-${unit}`]: remaining,
  [`x-ratelimit-reset-${unit}`]: span(resets - now),
})

/** A duration in OpenAI's format: `6m0s`, `1s`, `20ms`. */
function span(ms: number): string {
  if (ms < 1000) return `${ms}ms`
  const total = ms / 1000
  const minutes = Math.floor(total / 60)
  return `${minutes > 0 ? `${minutes}m` : ''}${Math.round((total - minutes * 60) * 1000) / 1000}s`
}
