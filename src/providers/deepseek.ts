// DeepSeek.

import { chat, defineProvider, text } from './define.ts'
import { deepseekHistory } from './rules/deepseek.ts'

const v4 = { context: 1_000_000, maxOutput: 384_000, reads: text }

/** What is known of it. */
export const deepseekProvider = defineProvider({
  name: 'deepseek',
  history: deepseekHistory,
  models: {
    // Prices of the peak hours, as its price list has them.
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
