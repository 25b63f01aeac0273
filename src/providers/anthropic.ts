// Anthropic, through its model package: its errors and quota headers, and signed and redacted thoughts.
import { COUNT_TOKENS } from '../contract/core/token-count.ts'
import { chat, defineProvider } from './define.ts'
import { errorFormat } from './error-messages.ts'
import type { ModelPackage } from './model-package.ts'
import type { QuotaCountdown } from './quota-headers.ts'
import { anthropicHistory } from './rules/anthropic.ts'
import { anthropicParameters } from './rules/parameters-anthropic.ts'

const modelPackage: ModelPackage = {
  key: 'anthropic',
  connect: async (settings) => (await import('@ai-sdk/anthropic')).createAnthropic(settings),
  callOptions({ mode, budget, serial }) {
    return {
      ...(serial && { disableParallelToolUse: true }),
      ...(mode === 'budget' && {
        thinking: { type: 'enabled', ...(budget === undefined ? {} : { budgetTokens: budget }) },
      }),
      ...(mode === 'adaptive' && { thinking: { type: 'adaptive' } }),
    }
  },
  cacheOptions: ({ type, ttl }) => ({ cacheControl: { type, ttl } }),
  thoughtOptions: ({ signature, redacted }) => ({
    ...(signature === undefined ? {} : { signature }),
    ...(redacted === undefined ? {} : { redactedData: redacted }),
  }),
  marksOf: ({ signature, redactedData: redacted }) => ({ signature, redacted }),
}

const quota: QuotaCountdown = (unit, { limit, remaining, resets }) => ({
  [`anthropic-ratelimit-${unit}-limit`]: limit,
  [`anthropic-ratelimit-${unit}-remaining`]: remaining,
  [`anthropic-ratelimit-${unit}-reset`]: new Date(resets).toISOString().replace(/\.\d+/, ''),
})

/** Types of errors by status. */
export const ANTHROPIC_ERRORS: Readonly<Record<number, string>> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  402: 'billing_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  500: 'api_error',
  504: 'timeout_error',
  529: 'overloaded_error',
}

const anthropicError = errorFormat(({ model, limit, requested, unit, id }) => ({
  words: {
    'rate-limit': [429, `This request would exceed your rate limit of ${limit ?? 0} ${unit}.`],
    'auth-failure': [401, 'invalid x-api-key'],
    'context-length': [400, `prompt is too long: ${requested} tokens > ${limit} maximum`],
    'content-filter': [400, 'Output blocked by content filtering policy'],
    'quota-exceeded': [400, 'Your credit balance is too low to access the API.'],
    'model-not-found': [404, `model: ${model}`],
    overloaded: [529, 'Overloaded'],
  },
  names: ANTHROPIC_ERRORS,
  shape: (status, message, type) => ({
    status,
    headers: { 'request-id': `req_${id}` },
    body: { type: 'error', error: { type, message }, request_id: `req_${id}` },
  }),
}))

const recent = { context: 1_000_000, maxOutput: 128_000 }
const claude4 = { context: 200_000, maxOutput: 64_000 }

/** The provider Anthropic: its models, endpoint and errors. */
export const anthropicProvider = defineProvider({
  name: 'anthropic',
  history: anthropicHistory,
  parameters: anthropicParameters,
  models: {
    'claude-fable-5-1': chat([10, 50], recent),
    'claude-fable-5': chat([10, 50], recent),
    'claude-mythos-5-1': chat([10, 50], recent),
    'claude-mythos-5': chat([10, 50], recent),
    'claude-opus-5-5': chat([4, 20], recent),
    'claude-opus-5': chat([5, 25], recent),
    'claude-sonnet-5-5': chat([2, 10], recent),
    'claude-sonnet-5': chat([2, 10], recent),
    'claude-haiku-5-5': chat([0.1, 0.5], recent),
    'claude-opus-4-8': chat([5, 25], recent),
    'claude-opus-4-7': chat([5, 25], recent),
    'claude-opus-4-6': chat([5, 25], recent),
    'claude-sonnet-4-6': chat([3, 15], recent),
    'claude-opus-4-5': chat([5, 25], claude4),
    'claude-sonnet-4-5': chat([3, 15], claude4),
    'claude-haiku-4-5': chat([1, 5], claude4),
    'claude-opus-4-1': chat([15, 75], { ...claude4, maxOutput: 32_000 }),
    'claude-opus-4': chat([15, 75], { ...claude4, maxOutput: 32_000 }),
    'claude-sonnet-4': chat([3, 15], claude4),
    // 64,000, or twice as many with the header `anthropic-beta: output-128k-2025-02-19`.
    'claude-3-7-sonnet': chat([3, 15], { ...claude4, maxOutput: 128_000 }),
    'claude-3-5-sonnet': chat([3, 15], { ...claude4, maxOutput: 8_192 }),
    'claude-3-5-haiku': chat([0.8, 4], { ...claude4, maxOutput: 8_192 }),
    'claude-3-opus': chat([15, 75], { ...claude4, maxOutput: 4_096 }),
    'claude-3-haiku': chat([0.25, 1.25], { ...claude4, maxOutput: 4_096 }),
  },
  endpoint: {
    baseUrl: 'https://api.anthropic.com/v1',
    keyVariable: 'ANTHROPIC_API_KEY',
    keyHeader: 'x-api-key',
    api: 'anthropic',
    operations: ['chat.completions', COUNT_TOKENS],
    modelPackage,
  },
  error: anthropicError,
  quota,
  refusesUnsafe: true,
})
