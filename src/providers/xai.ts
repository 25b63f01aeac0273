// xAI.
import { chat, defineProvider, text } from './define.ts'

/** What is known of it. */
export const xaiProvider = defineProvider({
  name: 'xai',
  models: {
    'grok-4.7': chat([2, 6], { context: 500_000, maxOutput: 500_000 }),
    'grok-4.6': chat([2, 6], { context: 500_000, maxOutput: 500_000 }),
    'grok-4.5': chat([2, 6], { context: 500_000, maxOutput: 500_000 }),
    'grok-4.3': chat([1.25, 2.5], { context: 1_000_000, maxOutput: 30_000 }),
    'grok-4.20': chat([1.25, 2.5], { context: 2_000_000, maxOutput: 30_000 }),
    'grok-4': chat([3, 15], { context: 256_000 }),
    'grok-4-fast': chat([0.2, 0.5], { context: 2_000_000, maxOutput: 30_000 }),
    'grok-code-fast-1': chat([0.2, 1.5], { context: 256_000, maxOutput: 10_000, reads: text }),
    'grok-build-0.1': chat([1, 2], { context: 256_000, maxOutput: 256_000 }),
    'grok-3': chat([3, 15], { context: 131_072, reads: text }),
    'grok-3-mini': chat([0.3, 0.5], { context: 131_072, reads: text }),
  },
  endpoint: {
    baseUrl: 'https://api.x.ai/v1',
    keyVariable: 'XAI_API_KEY',
    operations: ['chat.completions', 'responses', 'images.generations'],
  },
})
