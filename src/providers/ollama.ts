// Ollama, on the machine itself.
import { defineProvider } from './define.ts'

/** What is known of it. */
export const ollamaProvider = defineProvider({
  name: 'ollama',
  endpoint: {
    baseUrl: 'http://localhost:11434/v1',
    operations: ['chat.completions', 'completions', 'responses', 'embeddings'],
  },
})
