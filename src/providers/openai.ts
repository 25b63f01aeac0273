// OpenAI, whose wire format is that of this API.

import { chat, choosing, classic, defineProvider, embedding, older, seeing, text, thinking } from './define.ts'
import { openaiHistory } from './rules/openai.ts'

/** What is known of it. */
export const openaiProvider = defineProvider({
  name: 'openai',
  history: openaiHistory,
  withoutTools: /^(?:gpt-3\.5-turbo-instruct|babbage|davinci|o1-mini|o1-preview|chatgpt-4o-latest)|-search-preview/,
  models: {
    'gpt-5.1': thinking(chat(400_000, 1.25, 10), ...choosing),
    'gpt-5.1-codex-max': thinking(chat(400_000, 1.25, 10), ...choosing, 'xhigh'),
    'gpt-5': thinking(chat(400_000, 1.25, 10), ...classic),
    'gpt-5-mini': thinking(chat(400_000, 0.25, 2), ...classic),
    'gpt-5-nano': thinking(chat(400_000, 0.05, 0.4), ...classic),
    'gpt-5-pro': thinking(chat(400_000, 15, 120), 'high'),
    'gpt-4.1': chat(1_047_576, 2, 8),
    'gpt-4.1-mini': chat(1_047_576, 0.4, 1.6),
    'gpt-4.1-nano': chat(1_047_576, 0.1, 0.4),
    'gpt-4o': chat(128_000, 2.5, 10),
    'gpt-4o-mini': chat(128_000, 0.15, 0.6),
    'gpt-4o-audio-preview': {
      context: 128_000,
      input: ['text', 'audio'],
      output: ['text', 'audio'],
      price: { input: 2.5, output: 10 },
    },
    'gpt-4-turbo': older(chat(128_000, 10, 30)),
    'gpt-4': older(chat(8_192, 30, 60, text)),
    'gpt-3.5-turbo': older(chat(16_385, 0.5, 1.5, text)),
    'gpt-3.5-turbo-instruct': older(chat(4_096, 1.5, 2, text)),
    o1: thinking(chat(200_000, 15, 60), 'low', 'medium', 'high'),
    o3: thinking(chat(200_000, 2, 8), 'low', 'medium', 'high'),
    'o3-mini': thinking(chat(200_000, 1.1, 4.4, text), 'low', 'medium', 'high'),
    'o4-mini': thinking(chat(200_000, 1.1, 4.4), 'low', 'medium', 'high'),
    'text-embedding-3-small': older(embedding(8_192, 0.02, 1_536, true)),
    'text-embedding-3-large': older(embedding(8_192, 0.13, 3_072, true)),
    'text-embedding-ada-002': older(embedding(8_192, 0.1, 1_536)),
    'dall-e-2': {
      input: text,
      output: ['image'],
      price: { image: { 'standard 256x256': 0.016, 'standard 512x512': 0.018, 'standard 1024x1024': 0.02 } },
    },
    'dall-e-3': {
      input: text,
      output: ['image'],
      price: {
        image: {
          'standard 1024x1024': 0.04,
          'standard 1792x1024': 0.08,
          'standard 1024x1792': 0.08,
          'hd 1024x1024': 0.08,
          'hd 1792x1024': 0.12,
          'hd 1024x1792': 0.12,
        },
      },
    },
    'gpt-image-1-mini': { input: seeing, output: ['image'], price: { input: 2, output: 8 } },
    'gpt-image-1': { input: seeing, output: ['image'], price: { input: 5, output: 40 } },
    'whisper-1': { input: ['audio'], output: text, price: { minute: 0.006 } },
  },
  endpoint: {
    baseUrl: 'https://api.openai.com/v1',
    keyVariable: 'OPENAI_API_KEY',
  },
})
