// The provider Perplexity.

import { defineProvider } from './define.ts'
import { historyRules } from './rules/rule.ts'

/** The provider Perplexity: its models, endpoint and errors. */
export const perplexityProvider = defineProvider({
  name: 'perplexity',
  // Checked on 26 November 2026.
  history: historyRules({ form: 'chat' }, [
    {
      problem: 'roles-not-alternating',
      source: 'https://github.com/perplexityai/api-discussion/issues/265',
      message: () => 'After the (optional) system message(s), user and assistant roles should be alternating.',
      error: () => ({ type: 'invalid_message', code: '400' }),
    },
  ]),
  withoutTools: /./,
  endpoint: {
    baseUrl: 'https://api.perplexity.ai',
    keyVariable: 'PERPLEXITY_API_KEY',
    operations: ['chat.completions'],
    countsUnasked: true,
  },
})
