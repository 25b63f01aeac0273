// The provider Together.
import { defineProvider } from './define.ts'

/** The provider Together: its models, endpoint and errors. */
export const togetherProvider = defineProvider({
  name: 'together',
  endpoint: {
    baseUrl: 'https://api.together.xyz/v1',
    keyVariable: 'TOGETHER_API_KEY',
    operations: ['chat.completions', 'completions', 'embeddings', 'images.generations', 'audio.translations'],
  },
})
