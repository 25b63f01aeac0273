// Conversations that DeepSeek rejects, with its error messages. Checked on 26 November 2026.
import { historyRules } from './rule.ts'

/** Rules of DeepSeek's chat completions. */
export const deepseekHistory = historyRules(
  'chat',
  [
    {
      problem: 'call-without-result',
      source: 'https://github.com/charmbracelet/crush/issues/862',
      message: ({ ids }) =>
        `An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id', The following tool_call_ids did not have response messages: ${ids.join(', ')}`,
    },
    {
      problem: 'result-without-call',
      source: 'https://github.com/itmisx/deepx-code/issues/94',
      message: () => "Messages with role 'tool' must be a response to a preceding message with 'tool_calls'",
    },
  ],
  { code: 'invalid_request_error' },
)
