// Conversations that Google rejects, with its error messages. Checked on 26 November 2026.
import { historyRules } from './rule.ts'

/** Rules of Google's chat completions. */
export const googleHistory = historyRules('chat', [
  {
    problem: 'call-without-result',
    models: /^gemini-/,
    source: 'https://github.com/google-gemini/gemini-cli/issues/16216',
    message: () =>
      'Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.',
    error: () => ({ type: 'INVALID_ARGUMENT' }),
  },
])
