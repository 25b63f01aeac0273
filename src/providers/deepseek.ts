// DeepSeek.

import { chat, defineProvider, text } from './define.ts'
import { deepseekHistory } from './rules/deepseek.ts'

/** What is known of it. */
export const deepseekProvider = defineProvider({
  name: 'deepseek',
  history: deepseekHistory,
  models: {
    'deepseek-chat': chat(131_072, 0.27, 1.1, text),
    'deepseek-reasoner': chat(131_072, 0.55, 2.19, text),
  },
  endpoint: {
    baseUrl: 'https://api.deepseek.com',
    keyVariable: 'DEEPSEEK_API_KEY',
    operations: ['chat.completions'],
  },
})
