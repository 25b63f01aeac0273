// Conversations that Mistral rejects, with its error messages. Checked on 26 November 2026.
import type { HistoryRule } from './rule.ts'

const invalid = (message: string) => ({ status: 400, type: 'invalid_request_error', code: null, param: null, message })

/** Rules of Mistral's chat completions. */
export const mistralHistory: readonly HistoryRule[] = [
  {
    problem: 'call-without-result',
    form: 'chat',
    source: 'https://github.com/camel-ai/camel/issues/1467',
    reject: () => invalid('Not the same number of function calls and responses'),
  },
  {
    problem: 'assistant-last',
    form: 'chat',
    source: 'https://github.com/NEKOparapa/AiNiee/issues/641',
    reject: () =>
      invalid('Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant'),
  },
]
