// Conversations that Perplexity rejects, with its error messages. Checked on 26 November 2026.
import type { HistoryRule } from './rule.ts'

/** Rules of Perplexity's chat completions. */
export const perplexityHistory: readonly HistoryRule[] = [
  {
    problem: 'roles-not-alternating',
    form: 'chat',
    source: 'https://github.com/perplexityai/api-discussion/issues/265',
    reject: () => ({
      status: 400,
      type: 'invalid_message',
      code: '400',
      param: null,
      message: 'After the (optional) system message(s), user and assistant roles should be alternating.',
    }),
  },
]
