// Groq.
import { chat, defineProvider, text } from './define.ts'

/** What is known of it. */
export const groqProvider = defineProvider({
  name: 'groq',
  models: {
    'openai/gpt-oss-120b': chat([0.15, 0.6], { context: 131_072, maxOutput: 65_536, reads: text }),
    'openai/gpt-oss-20b': chat([0.075, 0.3], { context: 131_072, maxOutput: 65_536, reads: text }),
    'qwen/qwen3.8-27b': chat([0.8, 4], { context: 131_042, maxOutput: 16_384 }),
    'qwen/qwen3-32b': chat([0.29, 0.59], { context: 131_072, maxOutput: 40_960, reads: text }),
    'meta-llama/llama-4-scout-17b-16e-instruct': chat([0.11, 0.34], { context: 131_072, maxOutput: 8_192 }),
    'llama-3.3-70b-versatile': chat([0.59, 0.79], { context: 131_072, maxOutput: 32_768, reads: text }),
    'llama-3.1-8b-instant': chat([0.05, 0.08], { context: 131_072, maxOutput: 131_072, reads: text }),
  },
  endpoint: {
    baseUrl: 'https://api.groq.com/openai/v1',
    keyVariable: 'GROQ_API_KEY',
    operations: ['chat.completions', 'responses', 'audio.translations'],
  },
})
