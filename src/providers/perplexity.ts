// Perplexity.
import { defineProvider } from './define.ts'

/** What is known of it. */
export const perplexityProvider = defineProvider({
  name: 'perplexity',
  withoutTools: /./,
  endpoint: {
    baseUrl: 'https://api.perplexity.ai',
    keyVariable: 'PERPLEXITY_API_KEY',
    operations: ['chat.completions'],
    countsUnasked: true,
  },
})
