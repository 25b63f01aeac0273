// OpenAI, whose wire format is that of this API.
//
// The tables of models in this folder hold facts of public lists: the model files of models.dev (July 2, 2026, and single files
// up to October 7, 2026), llm-prices (August 5, 2026), the model ids in `openai` 6.49, `@anthropic-ai/sdk` 1.12, `@ai-sdk/openai`
// 4.0 and `@ai-sdk/anthropic` 4.0, and the model pages of OpenAI and Anthropic. Where lists differ, a limit is the higher one.
// `MODEL_TABLE_DATE` is the day of the newest entry.

import { chat, defineProvider, embedding, older, seeing, text } from './define.ts'
import { openaiHistory } from './rules/openai.ts'
import { openaiParameters } from './rules/parameters-openai.ts'

// What reasoning models take, by family.
const effort = {
  classic: ['minimal', 'low', 'medium', 'high'],
  graded: ['low', 'medium', 'high'],
  optional: ['none', 'low', 'medium', 'high'],
  wide: ['none', 'low', 'medium', 'high', 'xhigh'],
  deep: ['medium', 'high', 'xhigh'],
} as const
const gpt4 = { context: 128_000, maxOutput: 16_384 }
const gpt41 = { context: 1_047_576, maxOutput: 32_768 }
const gpt5 = { context: 400_000, maxInput: 272_000, maxOutput: 128_000 }
/** The larger models since GPT-5.4. */
const large = { context: 1_050_000, maxInput: 922_000, maxOutput: 128_000 }
const oSeries = { context: 200_000, maxOutput: 100_000 }

/** What is known of it. */
export const openaiProvider = defineProvider({
  name: 'openai',
  history: openaiHistory,
  parameters: openaiParameters,
  withoutTools: /^(?:gpt-3\.5-turbo-instruct|babbage|davinci|o1-mini|o1-preview|chatgpt-4o-latest)|-search-preview/,
  models: {
    'gpt-6.1-sol': chat([2, 10], large),
    'gpt-6.1-terra': chat([1, 5], large),
    'gpt-6-astra': chat([10, 50], large),
    'gpt-6-sol': chat([2, 10], large),
    'gpt-6-luna': chat([0.1, 0.5], large),
    'gpt-5.6': chat([4, 20], large),
    'gpt-5.6-sol': chat([4, 20], large),
    'gpt-5.6-terra': chat([2, 12], large),
    'gpt-5.6-luna': chat([0.2, 1.2], large),
    'gpt-5.5': chat([5, 30], { ...large, efforts: effort.wide }),
    'gpt-5.5-pro': chat([30, 180], { ...large, efforts: effort.deep }),
    'gpt-5.4': chat([2.5, 15], { ...large, efforts: effort.wide }),
    'gpt-5.4-pro': chat([30, 180], { ...large, efforts: effort.deep }),
    'gpt-5.4-mini': chat([0.75, 4.5], { ...gpt5, efforts: effort.wide }),
    'gpt-5.4-nano': chat([0.2, 1.25], { ...gpt5, efforts: effort.wide }),
    'gpt-5.3-chat-latest': chat([1.75, 14], gpt4),
    'gpt-5.3-codex': chat([1.75, 14], { ...gpt5, efforts: effort.wide }),
    'gpt-5.3-codex-spark': chat([1.75, 14], { context: 128_000, maxInput: 100_000, maxOutput: 32_000 }),
    'gpt-5.2': chat([1.75, 14], { ...gpt5, efforts: effort.wide }),
    'gpt-5.2-pro': chat([21, 168], { ...gpt5, efforts: effort.deep }),
    'gpt-5.2-codex': chat([1.75, 14], { ...gpt5, efforts: ['low', 'medium', 'high', 'xhigh'] }),
    'gpt-5.2-chat-latest': chat([1.75, 14], { ...gpt4, efforts: ['medium'] }),
    'gpt-5.1': chat([1.25, 10], { ...gpt5, efforts: effort.optional }),
    'gpt-5.1-codex': chat([1.25, 10], { ...gpt5, efforts: effort.graded }),
    'gpt-5.1-codex-max': chat([1.25, 10], { ...gpt5, efforts: effort.wide }),
    'gpt-5.1-codex-mini': chat([0.25, 2], { ...gpt5, efforts: effort.graded }),
    'gpt-5.1-chat-latest': chat([1.25, 10], { ...gpt4, efforts: ['medium'] }),
    'gpt-5': chat([1.25, 10], { ...gpt5, efforts: effort.classic }),
    'gpt-5-mini': chat([0.25, 2], { ...gpt5, efforts: effort.classic }),
    'gpt-5-nano': chat([0.05, 0.4], { ...gpt5, efforts: effort.classic }),
    'gpt-5-pro': chat([15, 120], { ...gpt5, maxOutput: 272_000, efforts: ['high'] }),
    'gpt-5-codex': chat([1.25, 10], { ...gpt5, efforts: effort.graded }),
    'gpt-5-chat-latest': chat([1.25, 10], { context: 400_000, maxOutput: 128_000 }),
    'gpt-4.1': chat([2, 8], gpt41),
    'gpt-4.1-mini': chat([0.4, 1.6], gpt41),
    'gpt-4.1-nano': chat([0.1, 0.4], gpt41),
    'gpt-4o': chat([2.5, 10], gpt4),
    'gpt-4o-2024-05-13': chat([5, 15], { context: 128_000, maxOutput: 4_096 }),
    'gpt-4o-mini': chat([0.15, 0.6], gpt4),
    'chatgpt-4o-latest': chat([5, 15], gpt4),
    'gpt-4o-audio-preview': {
      context: 128_000,
      input: ['text', 'audio'],
      output: ['text', 'audio'],
      price: { input: 2.5, output: 10 },
    },
    'gpt-4-turbo': older(chat([10, 30], { context: 128_000, maxOutput: 4_096 })),
    'gpt-4-0125-preview': older(chat([10, 30], { context: 128_000, maxOutput: 4_096, reads: text })),
    'gpt-4-1106-preview': older(chat([10, 30], { context: 128_000, maxOutput: 4_096, reads: text })),
    'gpt-4': older(chat([30, 60], { context: 8_192, maxOutput: 8_192, reads: text })),
    'gpt-3.5-turbo': older(chat([0.5, 1.5], { context: 16_385, maxOutput: 4_096, reads: text })),
    'gpt-3.5-turbo-instruct': older(chat([1.5, 2], { context: 4_096, maxOutput: 4_096, reads: text })),
    o1: chat([15, 60], { ...oSeries, efforts: effort.graded }),
    'o1-pro': chat([150, 600], { ...oSeries, efforts: effort.graded }),
    o3: chat([2, 8], { ...oSeries, efforts: effort.graded }),
    'o3-pro': chat([20, 80], { ...oSeries, efforts: effort.graded }),
    'o3-mini': chat([1.1, 4.4], { ...oSeries, reads: text, efforts: effort.graded }),
    'o3-deep-research': chat([10, 40], oSeries),
    'o4-mini': chat([1.1, 4.4], { ...oSeries, efforts: effort.graded }),
    'o4-mini-deep-research': chat([2, 8], oSeries),
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
