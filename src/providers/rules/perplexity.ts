// Conversations that Perplexity rejects, with its error messages. Checked on 26 November 2026.
import { historyRules } from './rule.ts'

/** Rules of Perplexity's chat completions. */
export const perplexityHistory = historyRules('chat', [
  {
    problem: 'roles-not-alternating',
    source: 'https://github.com/perplexityai/api-discussion/issues/265',
    message: () => 'After the (optional) system message(s), user and assistant roles should be alternating.',
    error: () => ({ type: 'invalid_message', code: '400' }),
  },
])
