// The provider Fireworks.
import { defineProvider } from './define.ts'

/** The provider Fireworks: its models, endpoint and errors. */
export const fireworksProvider = defineProvider({
  name: 'fireworks',
  endpoint: {
    baseUrl: 'https://api.fireworks.ai/inference/v1',
    keyVariable: 'FIREWORKS_API_KEY',
    operations: ['chat.completions', 'completions', 'responses', 'embeddings'],
  },
})
