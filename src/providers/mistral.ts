// Mistral: errors and countdowns of its own.

import { chat, defineProvider, embedding, text } from './define.ts'
import { type ErrorShape, type ErrorVocabulary, type ProviderRefusal, reportRefusal, uuid } from './error-messages.ts'
import type { QuotaCountdown } from './quota-headers.ts'
import { mistralHistory } from './rules/mistral.ts'

const quota: QuotaCountdown = (unit, { limit, remaining }) => {
  const name = unit === 'requests' ? 'req' : 'tokens'
  return { [`x-ratelimit-limit-${name}-minute`]: limit, [`x-ratelimit-remaining-${name}-minute`]: remaining }
}

function mistralError(refused: ProviderRefusal): ErrorShape {
  const { problem, model, limit, asked, id } = refused
  const words: ErrorVocabulary = {
    'rate-limit': [429, 'rate_limited', 'Rate limit exceeded'],
    'auth-failure': [401, 'unauthorized', 'Unauthorized'],
    'context-length': [
      400,
      'invalid_request_prompt',
      `Prompt contains ${asked} tokens, too large for model with ${limit} maximum context length`,
    ],
    'content-filter': [403, 'guardrail_violation', 'The request was blocked by a content guardrail.'],
    'quota-exceeded': [429, 'service_tier_capacity_exceeded', 'Service tier capacity exceeded for this model.'],
    'model-not-found': [400, 'invalid_model', `Invalid model: ${model}`],
    overloaded: [503, 'internal_server_error', 'Service unavailable.'],
  }
  const names = { 400: 'invalid_request_error', 401: 'unauthorized', 429: 'rate_limited', 500: 'internal_server_error' }
  const [status, type, message] = reportRefusal(refused, { words, names })
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
}

/** What is known of it. */
export const mistralProvider = defineProvider({
  name: 'mistral',
  history: mistralHistory,
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
