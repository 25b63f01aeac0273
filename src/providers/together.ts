// Together.
import { defineProvider } from './define.ts'

/** What is known of it. */
export const togetherProvider = defineProvider({
  name: 'together',
  endpoint: {
    baseUrl: 'https://api.together.xyz/v1',
    keyVariable: 'TOGETHER_API_KEY',
    operations: ['chat.completions', 'completions', 'embeddings', 'images.generations', 'audio.translations'],
  },
})
