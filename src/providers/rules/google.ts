// Conversations that Google rejects, with its error messages. Checked on 26 November 2026.
import type { HistoryRule } from './rule.ts'

/** Rules of Google's chat completions. */
export const googleHistory: readonly HistoryRule[] = [
  {
    problem: 'call-without-result',
    form: 'chat',
    models: /^gemini-/,
    source: 'https://github.com/google-gemini/gemini-cli/issues/16216',
    reject: () => ({
      status: 400,
      type: 'INVALID_ARGUMENT',
      code: null,
      param: null,
      message:
        'Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.',
    }),
  },
]
