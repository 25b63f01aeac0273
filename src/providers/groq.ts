// Groq.
import { chat, defineProvider, text } from './define.ts'

/** What is known of it. */
export const groqProvider = defineProvider({
  name: 'groq',
  models: {
    'llama-3.3-70b-versatile': chat(131_072, 0.59, 0.79, text),
    'llama-3.1-8b-instant': chat(131_072, 0.05, 0.08, text),
  },
  endpoint: {
    baseUrl: 'https://api.groq.com/openai/v1',
    keyVariable: 'GROQ_API_KEY',
    operations: ['chat.completions', 'responses', 'audio.translations'],
  },
})
