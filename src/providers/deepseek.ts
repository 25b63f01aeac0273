// The provider DeepSeek.

import { chat, defineProvider, text } from './define.ts'
import { historyRules } from './rules/rule.ts'

const v4 = { context: 1_000_000, maxOutput: 384_000, reads: text }

/** The provider DeepSeek: its models, endpoint and errors. */
export const deepseekProvider = defineProvider({
  name: 'deepseek',
  // Checked on 26 November 2026.
  history: historyRules({ form: 'chat', code: 'invalid_request_error' }, [
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
  ]),
  models: {
    // Peak-hour prices.
    'deepseek-v4-pro': chat([1.32, 3.96], v4),
    'deepseek-v4-flash': chat([0.44, 1.32], v4),
    'deepseek-chat': chat([0.14, 0.28], v4),
    'deepseek-reasoner': chat([0.14, 0.28], v4),
  },
  endpoint: {
    baseUrl: 'https://api.deepseek.com',
    keyVariable: 'DEEPSEEK_API_KEY',
    operations: ['chat.completions'],
  },
})
