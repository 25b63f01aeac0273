// xAI.
import { chat, defineProvider, text } from './define.ts'

/** What is known of it. */
export const xaiProvider = defineProvider({
  name: 'xai',
  models: {
    'grok-4': chat(256_000, 3, 15),
    'grok-3': chat(131_072, 3, 15, text),
  },
  endpoint: {
    baseUrl: 'https://api.x.ai/v1',
    keyVariable: 'XAI_API_KEY',
    operations: ['chat.completions', 'responses', 'images.generations'],
  },
})
