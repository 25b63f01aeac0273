// Conversations that Mistral rejects, with its error messages. Checked on 26 November 2026.
import { historyRules } from './rule.ts'

/** Rules of Mistral's chat completions. */
export const mistralHistory = historyRules('chat', [
  {
    problem: 'call-without-result',
    source: 'https://github.com/camel-ai/camel/issues/1467',
    message: () => 'Not the same number of function calls and responses',
  },
  {
    problem: 'assistant-last',
    source: 'https://github.com/NEKOparapa/AiNiee/issues/641',
    message: () => 'Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant',
  },
])
