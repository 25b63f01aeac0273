// Fireworks.
import { defineProvider } from './define.ts'

/** What is known of it. */
export const fireworksProvider = defineProvider({
  name: 'fireworks',
  endpoint: {
    baseUrl: 'https://api.fireworks.ai/inference/v1',
    keyVariable: 'FIREWORKS_API_KEY',
    operations: ['chat.completions', 'completions', 'responses', 'embeddings'],
  },
})
