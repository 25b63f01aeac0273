// Google: Gemini through its model package. Errors are a google.rpc.Status, and tool calls are signed.

import { chat, defineProvider, embedding, hearing, seeing } from './define.ts'
import { errorFormat, seconds } from './error-messages.ts'
import type { ModelPackage } from './model-package.ts'
import { noCountdown } from './quota-headers.ts'
import { historyRules } from './rules/rule.ts'

const modelPackage: ModelPackage = {
  key: 'google',
  modelsInPaths: true,
  connect: async (settings) => (await import('@ai-sdk/google')).createGoogle(settings),
  callOptions({ mode, budget, level }) {
    if (mode === 'none' || mode === 'unasked') return {}
    const amount =
      level === undefined ? (budget === undefined ? {} : { thinkingBudget: budget }) : { thinkingLevel: level }
    return { thinkingConfig: { includeThoughts: true, ...(mode === 'budget' && amount) } }
  },
  signedCallOptions: (signature) => ({ thoughtSignature: signature }),
  marksOf: ({ thoughtSignature: call }) => ({ call }),
}

const googleError = errorFormat(({ problem, model, limit, requested, retryAfter, unit }) => ({
  words: {
    'rate-limit': [429, `You exceeded your current quota of ${unit} per minute for ${model}.`],
    'auth-failure': [400, 'API key not valid. Please pass a valid API key.'],
    'context-length': [
      400,
      `The input token count (${requested}) exceeds the maximum number of tokens allowed (${limit}).`,
    ],
    'content-filter': [400, 'The prompt was blocked for reasons of safety.'],
    'quota-exceeded': [429, 'You exceeded your current quota: check your plan and billing details.'],
    'model-not-found': [404, `models/${model} is not found for API version v1beta.`],
    overloaded: [503, 'The model is overloaded. Please try again later.'],
  },
  names: {
    400: 'INVALID_ARGUMENT',
    401: 'UNAUTHENTICATED',
    403: 'PERMISSION_DENIED',
    404: 'NOT_FOUND',
    408: 'DEADLINE_EXCEEDED',
    429: 'RESOURCE_EXHAUSTED',
    499: 'CANCELLED',
    500: 'INTERNAL',
    503: 'UNAVAILABLE',
    504: 'DEADLINE_EXCEEDED',
  },
  shape: (code, message, status) => {
    const type = (name: string) => ({ '@type': `type.googleapis.com/google.rpc.${name}` })
    const violation = {
      quotaMetric: `generativelanguage.googleapis.com/generate_content_${unit === 'tokens' ? 'input_token_count' : 'requests'}`,
      quotaDimensions: { location: 'global', model },
      ...(limit !== undefined && { quotaValue: String(limit) }),
    }
    const details = [
      ...(problem === 'rate-limit' ? [{ ...type('QuotaFailure'), violations: [violation] }] : []),
      ...(problem === 'auth-failure'
        ? [{ ...type('ErrorInfo'), reason: 'API_KEY_INVALID', domain: 'googleapis.com' }]
        : []),
      ...(retryAfter === undefined ? [] : [{ ...type('RetryInfo'), retryDelay: seconds(retryAfter) }]),
    ]
    return {
      status: code,
      headers: {},
      body: { error: { code, message, status, ...(details.length > 0 && { details }) } },
    }
  },
}))

const gemini = { context: 1_048_576, maxOutput: 65_536, reads: hearing }

/** The provider Google: its models, endpoint and errors. */
export const googleProvider = defineProvider({
  name: 'google',
  // Checked on 26 November 2026.
  history: historyRules({ form: 'chat' }, [
    {
      problem: 'call-without-result',
      models: /^gemini-/,
      source: 'https://github.com/google-gemini/gemini-cli/issues/16216',
      message: () =>
        'Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.',
      error: () => ({ type: 'INVALID_ARGUMENT' }),
    },
  ]),
  models: {
    'gemini-3.8-flash': chat([0.75, 3.75], gemini),
    'gemini-3.7-flash': chat([1.5, 7.5], gemini),
    'gemini-3.6-flash': chat([1.5, 7.5], gemini),
    'gemini-3.5-flash': chat([1.5, 9], gemini),
    'gemini-3.5-flash-lite': chat([0.3, 2.5], gemini),
    'gemini-3.1-pro-preview': chat([2, 12], gemini),
    'gemini-3.1-flash-lite': chat([0.25, 1.5], gemini),
    'gemini-3-pro-preview': chat([2, 12], gemini),
    'gemini-3-flash-preview': chat([0.5, 3], gemini),
    'gemini-2.5-pro': chat([1.25, 10], gemini),
    'gemini-2.5-flash': chat([0.3, 2.5], gemini),
    'gemini-2.5-flash-lite': chat([0.1, 0.4], gemini),
    'gemini-2.5-flash-image': {
      ...{ context: 32_768, maxOutput: 32_768, price: { input: 0.3, output: 30 } },
      ...{ input: seeing, output: seeing },
    },
    'gemini-2.0-flash': chat([0.1, 0.4], { ...gemini, maxOutput: 8_192 }),
    'gemini-2.0-flash-lite': chat([0.075, 0.3], { ...gemini, maxOutput: 8_192 }),
    'gemini-embedding-001': embedding(2_048, 0.15, 3_072, true),
    'text-embedding-004': embedding(2_048, 0, 768),
  },
  endpoint: {
    baseUrl: 'https://generativelanguage.googleapis.com/v1beta',
    keyVariable: 'GEMINI_API_KEY',
    operations: ['chat.completions', 'embeddings'],
    modelPackage,
  },
  error: googleError,
  // The retry delay is in the body of an error, and there are no quota headers.
  quota: noCountdown,
  sendsRetryAfter: false,
})
