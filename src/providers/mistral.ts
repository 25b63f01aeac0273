// Mistral: its errors and quota headers.

import { chat, defineProvider, embedding, text } from './define.ts'
import { errorFormat, uuid } from './error-messages.ts'
import type { QuotaCountdown } from './quota-headers.ts'
import { historyRules } from './rules/rule.ts'

const quota: QuotaCountdown = (unit, { limit, remaining }) => {
  const name = unit === 'requests' ? 'req' : 'tokens'
  return { [`x-ratelimit-limit-${name}-minute`]: limit, [`x-ratelimit-remaining-${name}-minute`]: remaining }
}

const mistralError = errorFormat(({ problem, model, limit, requested, id }) => ({
  words: {
    'rate-limit': [429, 'Rate limit exceeded'],
    'auth-failure': [401, 'Unauthorized'],
    'context-length': [
      400,
      `Prompt contains ${requested} tokens, too large for model with ${limit} maximum context length`,
      'invalid_request_prompt',
    ],
    'content-filter': [403, 'The request was blocked by a content guardrail.', 'guardrail_violation'],
    'quota-exceeded': [429, 'Service tier capacity exceeded for this model.', 'service_tier_capacity_exceeded'],
    'model-not-found': [400, `Invalid model: ${model}`, 'invalid_model'],
    overloaded: [503, 'Service unavailable.'],
  },
  names: { 400: 'invalid_request_error', 401: 'unauthorized', 429: 'rate_limited', 500: 'internal_server_error' },
  shape: (status, message, type) => {
    const codes: Record<string, string> = {
      rate_limited: '1300',
      invalid_model: '1500',
      invalid_request_prompt: '3051',
      service_tier_capacity_exceeded: '3505',
      internal_server_error: '1000',
    }
    const body =
      problem === 'auth-failure'
        ? { detail: message }
        : { object: 'error', message, type, param: null, code: codes[type] ?? null, raw_status_code: status }
    return { status, headers: { 'mistral-correlation-id': uuid(id) }, body }
  },
}))

/** The provider Mistral: its models, endpoint and errors. */
export const mistralProvider = defineProvider({
  name: 'mistral',
  // Checked on 26 November 2026.
  history: historyRules({ form: 'chat' }, [
    {
      problem: 'call-without-result',
      source: 'https://github.com/camel-ai/camel/issues/1467',
      message: () => 'Not the same number of function calls and responses',
    },
    {
      problem: 'assistant-last',
      source: 'https://github.com/NEKOparapa/AiNiee/issues/641',
      message: () => 'Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant',
    },
  ]),
  models: {
    'mistral-large': chat([0.5, 1.5], { context: 262_144, maxOutput: 262_144 }),
    'mistral-large-2411': chat([2, 6], { context: 131_072, maxOutput: 16_384, reads: text }),
    'mistral-medium': chat([0.4, 2], { context: 262_144, maxOutput: 262_144 }),
    'mistral-medium-2604': chat([1.5, 7.5], { context: 262_144, maxOutput: 262_144 }),
    'mistral-medium-2505': chat([0.4, 2], { context: 131_072, maxOutput: 131_072 }),
    'mistral-small': chat([0.15, 0.6], { context: 256_000, maxOutput: 256_000 }),
    'mistral-small-2506': chat([0.1, 0.3], { context: 128_000, maxOutput: 16_384 }),
    'magistral-medium': chat([2, 5], { context: 128_000, maxOutput: 16_384, reads: text }),
    'magistral-small': chat([0.5, 1.5], { context: 128_000, maxOutput: 128_000, reads: text }),
    'ministral-8b': chat([0.1, 0.1], { context: 128_000, maxOutput: 128_000, reads: text }),
    'ministral-3b': chat([0.04, 0.04], { context: 128_000, maxOutput: 128_000, reads: text }),
    // Its output limit differs between lists.
    codestral: chat([0.3, 0.9], { context: 256_000, reads: text }),
    'mistral-embed': embedding(8_192, 0.1, 1_024),
  },
  endpoint: {
    baseUrl: 'https://api.mistral.ai/v1',
    keyVariable: 'MISTRAL_API_KEY',
    operations: ['chat.completions', 'embeddings'],
    countsUnasked: true,
  },
  error: mistralError,
  quota,
  refusesUnsafe: true,
})
