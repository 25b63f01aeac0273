// The provider OpenRouter.
import { defineProvider } from './define.ts'

/** The provider OpenRouter: its models, endpoint and errors. */
export const openrouterProvider = defineProvider({
  name: 'openrouter',
  endpoint: {
    baseUrl: 'https://openrouter.ai/api/v1',
    keyVariable: 'OPENROUTER_API_KEY',
    operations: ['chat.completions', 'completions', 'responses', 'embeddings'],
  },
})
