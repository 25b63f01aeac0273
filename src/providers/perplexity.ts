// The provider Perplexity.

import { defineProvider } from './define.ts'
import { perplexityHistory } from './rules/perplexity.ts'

/** The provider Perplexity: its models, endpoint and errors. */
export const perplexityProvider = defineProvider({
  name: 'perplexity',
  history: perplexityHistory,
  withoutTools: /./,
  endpoint: {
    baseUrl: 'https://api.perplexity.ai',
    keyVariable: 'PERPLEXITY_API_KEY',
    operations: ['chat.completions'],
    countsUnasked: true,
  },
})
