// Perplexity.

import { defineProvider } from './define.ts'
import { perplexityHistory } from './rules/perplexity.ts'

/** What is known of it. */
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
