// Cohere: its errors and quota headers.
import { chat, defineProvider, embedding, text } from './define.ts'
import { errorFormat, uuid } from './error-messages.ts'
import type { QuotaCountdown } from './quota-headers.ts'

const quota: QuotaCountdown = (unit, { limit, remaining }) =>
  unit === 'requests'
    ? { 'x-trial-endpoint-call-limit': limit, 'x-trial-endpoint-call-remaining': remaining }
    : ({} as Record<string, number>)

const cohereError = errorFormat(({ model, limit, requested, unit, id }) => ({
  words: {
    'rate-limit': [429, `You are past the limit of ${limit ?? 0} ${unit} / minute of your key.`],
    'auth-failure': [401, 'invalid api token'],
    'context-length': [
      400,
      `too many tokens: the prompt cannot exceed ${limit} tokens, received ${requested}. Try a shorter prompt.`,
    ],
    'content-filter': [498, 'The request was blocked: it may be against the usage guidelines.'],
    'quota-exceeded': [402, 'You have reached the billing limit of your account.'],
    'model-not-found': [404, `model '${model}' not found, make sure that you have access to it.`],
    overloaded: [503, 'the service is overloaded, please try again later'],
  },
  shape: (status, message) => ({ status, headers: { 'x-debug-trace-id': id }, body: { id: uuid(id), message } }),
}))

const commandR = { context: 128_000, maxOutput: 4_000, reads: text }

/** The provider Cohere: its models, endpoint and errors. */
export const cohereProvider = defineProvider({
  name: 'cohere',
  models: {
    'command-a-plus-05-2026': chat([2.5, 10], { context: 128_000, maxOutput: 64_000 }),
    'command-a-reasoning-08-2025': chat([2.5, 10], { context: 256_000, maxOutput: 32_000, reads: text }),
    'command-a-vision-07-2025': chat([2.5, 10], { context: 128_000, maxOutput: 8_000 }),
    'command-a-03-2025': chat([2.5, 10], { context: 256_000, maxOutput: 8_000, reads: text }),
    'command-r-plus': chat([2.5, 10], commandR),
    'command-r': chat([0.15, 0.6], commandR),
    'command-r7b': chat([0.0375, 0.15], commandR),
    'embed-v4.0': embedding(128_000, 0.12, 1_536, true),
    'embed-english-v3.0': embedding(512, 0.1, 1_024),
    'embed-multilingual-v3.0': embedding(512, 0.1, 1_024),
  },
  endpoint: {
    baseUrl: 'https://api.cohere.ai/compatibility/v1',
    keyVariable: 'COHERE_API_KEY',
    operations: ['chat.completions', 'embeddings'],
  },
  error: cohereError,
  quota,
  refusesUnsafe: true,
})
