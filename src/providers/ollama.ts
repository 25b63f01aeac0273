// The provider Ollama, on the local machine.
import { defineProvider } from './define.ts'

/** The provider Ollama: its models, endpoint and errors. */
export const ollamaProvider = defineProvider({
  name: 'ollama',
  endpoint: {
    baseUrl: 'http://localhost:11434/v1',
    operations: ['chat.completions', 'completions', 'responses', 'embeddings'],
  },
})
