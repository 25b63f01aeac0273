// Conversations that DeepSeek rejects, with its error messages. Checked on 26 November 2026.
import type { HistoryRule } from './rule.ts'

const invalid = (message: string) => ({
  status: 400,
  type: 'invalid_request_error',
  code: 'invalid_request_error',
  param: null,
  message,
})

/** Rules of DeepSeek's chat completions. */
export const deepseekHistory: readonly HistoryRule[] = [
  {
    problem: 'call-without-result',
    form: 'chat',
    source: 'https://github.com/charmbracelet/crush/issues/862',
    reject: ({ ids }) =>
      invalid(
        `An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id', The following tool_call_ids did not have response messages: ${ids.join(', ')}`,
      ),
  },
  {
    problem: 'result-without-call',
    form: 'chat',
    source: 'https://github.com/itmisx/deepx-code/issues/94',
    reject: () => invalid("Messages with role 'tool' must be a response to a preceding message with 'tool_calls'"),
  },
]
