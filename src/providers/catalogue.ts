// The providers and models that are known: what a model id may name, how much it reads, and what it costs. List prices
// and limits as the providers published them; a model that is not listed works too, without limits and without a cost.
import { ApiError } from '../contract/error.ts'
import type { ReasoningEffort } from '../contract/shared.ts'
import type { Vocabulary } from '../lib/tokens.ts'

/** Names before the slash of `<provider>/<model>`. */
export const PROVIDERS = [
  'anthropic',
  'aws',
  'azure',
  'cohere',
  'deepseek',
  'fireworks',
  'google',
  'groq',
  'mistral',
  'ollama',
  'openai',
  'openrouter',
  'perplexity',
  'together',
  'xai',
] as const

type Modality = 'text' | 'image' | 'audio' | 'embedding'
/** What is known of one model. */
export interface Model {
  /** Tokens of input and output together. */
  context?: number
  input: readonly Modality[]
  output: readonly Modality[]
  /** USD: a million tokens in and out, a picture by quality and size, a minute of audio. */
  price: { input?: number; output?: number; image?: Readonly<Record<string, number>>; minute?: number }
  /** Length of an embedding, and whether a call may ask for a shorter one. */
  dimensions?: number
  shortens?: boolean
  /** What its token ids mean; o200k when left out. */
  vocabulary?: Vocabulary
  /** The reasoning efforts it takes; any when left out. */
  efforts?: readonly ReasoningEffort[]
}

const text = ['text'] as const
const seeing = ['text', 'image'] as const
const chat = (context: number, input: number, output: number, reads: readonly Modality[] = seeing): Model => ({
  context,
  input: reads,
  output: text,
  price: { input, output },
})
const embedding = (context: number, input: number, dimensions: number, shortens = false): Model => ({
  context,
  input: text,
  output: ['embedding'],
  price: { input },
  dimensions,
  shortens,
})
const older = (model: Model): Model => ({ ...model, vocabulary: 'cl100k' })

// The families that the specification describes by what their reasoning effort may be.
const thinking = (model: Model, ...efforts: ReasoningEffort[]): Model => ({ ...model, efforts })
const classic = ['minimal', 'low', 'medium', 'high'] as const
const choosing = ['none', 'low', 'medium', 'high'] as const

/** Models by id; a dated id such as `openai/gpt-4o-2024-08-06` is the longest listed id that it begins with. */
export const MODELS: Readonly<Record<string, Model>> = {
  'openai/gpt-5.1': thinking(chat(400_000, 1.25, 10), ...choosing),
  'openai/gpt-5.1-codex-max': thinking(chat(400_000, 1.25, 10), ...choosing, 'xhigh'),
  'openai/gpt-5': thinking(chat(400_000, 1.25, 10), ...classic),
  'openai/gpt-5-mini': thinking(chat(400_000, 0.25, 2), ...classic),
  'openai/gpt-5-nano': thinking(chat(400_000, 0.05, 0.4), ...classic),
  'openai/gpt-5-pro': thinking(chat(400_000, 15, 120), 'high'),
  'openai/gpt-4.1': chat(1_047_576, 2, 8),
  'openai/gpt-4.1-mini': chat(1_047_576, 0.4, 1.6),
  'openai/gpt-4.1-nano': chat(1_047_576, 0.1, 0.4),
  'openai/gpt-4o': chat(128_000, 2.5, 10),
  'openai/gpt-4o-mini': chat(128_000, 0.15, 0.6),
  'openai/gpt-4o-audio-preview': {
    context: 128_000,
    input: ['text', 'audio'],
    output: ['text', 'audio'],
    price: { input: 2.5, output: 10 },
  },
  'openai/gpt-4-turbo': older(chat(128_000, 10, 30)),
  'openai/gpt-4': older(chat(8_192, 30, 60, text)),
  'openai/gpt-3.5-turbo': older(chat(16_385, 0.5, 1.5, text)),
  'openai/gpt-3.5-turbo-instruct': older(chat(4_096, 1.5, 2, text)),
  'openai/o1': thinking(chat(200_000, 15, 60), 'low', 'medium', 'high'),
  'openai/o3': thinking(chat(200_000, 2, 8), 'low', 'medium', 'high'),
  'openai/o3-mini': thinking(chat(200_000, 1.1, 4.4, text), 'low', 'medium', 'high'),
  'openai/o4-mini': thinking(chat(200_000, 1.1, 4.4), 'low', 'medium', 'high'),
  'openai/text-embedding-3-small': older(embedding(8_192, 0.02, 1_536, true)),
  'openai/text-embedding-3-large': older(embedding(8_192, 0.13, 3_072, true)),
  'openai/text-embedding-ada-002': older(embedding(8_192, 0.1, 1_536)),
  'openai/dall-e-2': {
    input: text,
    output: ['image'],
    price: { image: { 'standard 256x256': 0.016, 'standard 512x512': 0.018, 'standard 1024x1024': 0.02 } },
  },
  'openai/dall-e-3': {
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
  'openai/gpt-image-1-mini': { input: seeing, output: ['image'], price: { input: 2, output: 8 } },
  'openai/gpt-image-1': { input: seeing, output: ['image'], price: { input: 5, output: 40 } },
  'openai/whisper-1': { input: ['audio'], output: text, price: { minute: 0.006 } },
  'anthropic/claude-opus-4': chat(200_000, 15, 75),
  'anthropic/claude-sonnet-4': chat(200_000, 3, 15),
  'anthropic/claude-3-7-sonnet': chat(200_000, 3, 15),
  'anthropic/claude-3-5-sonnet': chat(200_000, 3, 15),
  'anthropic/claude-3-5-haiku': chat(200_000, 0.8, 4),
  'anthropic/claude-3-haiku': chat(200_000, 0.25, 1.25),
  'google/gemini-2.5-pro': chat(1_048_576, 1.25, 10, ['text', 'image', 'audio']),
  'google/gemini-2.5-flash': chat(1_048_576, 0.3, 2.5, ['text', 'image', 'audio']),
  'google/gemini-2.0-flash': chat(1_048_576, 0.1, 0.4, ['text', 'image', 'audio']),
  'google/gemini-embedding-001': embedding(2_048, 0.15, 3_072, true),
  'google/text-embedding-004': embedding(2_048, 0, 768),
  'mistral/mistral-large': chat(131_072, 2, 6, text),
  'mistral/mistral-small': chat(131_072, 0.1, 0.3),
  'mistral/mistral-embed': embedding(8_192, 0.1, 1_024),
  'cohere/command-r-plus': chat(128_000, 2.5, 10, text),
  'cohere/command-r': chat(128_000, 0.15, 0.6, text),
  'cohere/embed-v4.0': embedding(128_000, 0.12, 1_536, true),
  'cohere/embed-english-v3.0': embedding(512, 0.1, 1_024),
  'cohere/embed-multilingual-v3.0': embedding(512, 0.1, 1_024),
  'deepseek/deepseek-chat': chat(131_072, 0.27, 1.1, text),
  'deepseek/deepseek-reasoner': chat(131_072, 0.55, 2.19, text),
  'groq/llama-3.3-70b-versatile': chat(131_072, 0.59, 0.79, text),
  'groq/llama-3.1-8b-instant': chat(131_072, 0.05, 0.08, text),
  'xai/grok-4': chat(256_000, 3, 15),
  'xai/grok-3': chat(131_072, 3, 15, text),
}

const known = new Set<string>(PROVIDERS)

/** Adds providers that the configuration names. */
export function addProviders(names: Iterable<string>): void {
  for (const name of names) known.add(name)
}

/** The provider of a model id, which the field `param` names; 404 `model_not_found` when nobody goes by that name. */
export function providerOf(model: string, param = 'model'): string {
  const provider = model.slice(0, model.indexOf('/'))
  if (known.has(provider)) return provider
  throw new ApiError(
    404,
    'model_not_found',
    `model ${JSON.stringify(model)} has no known provider; known: ${[...known].join(', ')}`,
    { param },
  )
}

// Ids come from requests, so the answers kept are bounded.
const found = new Map<string, Model | undefined>()
const FOUND_KEPT = 1_000

/** What is known of a model id, undefined when it is not listed. */
export function modelOf(id: string): Model | undefined {
  if (found.has(id)) return found.get(id)
  const names = Object.keys(MODELS).filter(
    (name) => id === name || (id.startsWith(name) && /[-:@]/.test(id[name.length] ?? '')),
  )
  const longest = names.sort((a, b) => b.length - a.length)[0]
  const model = longest === undefined ? undefined : MODELS[longest]
  if (found.size >= FOUND_KEPT) found.clear()
  found.set(id, model)
  return model
}

/** The vocabulary that a model's token ids belong to. */
export const vocabularyOf = (id: string): Vocabulary => modelOf(id)?.vocabulary ?? 'o200k'

/** 400 `context_length_exceeded` when an input of that many tokens does not fit the model. */
export function checkContext(id: string, tokens: number): void {
  const context = modelOf(id)?.context
  if (context === undefined || tokens <= context) return
  throw new ApiError(
    400,
    'context_length_exceeded',
    `the input has ${tokens} tokens, ${id} takes at most ${context}: make it shorter`,
  )
}

/** 400 when a model is known not to take a reasoning effort. */
export function checkEffort(id: string, effort: ReasoningEffort | null | undefined, param: string): void {
  const efforts = modelOf(id)?.efforts
  if (effort == null || !efforts || efforts.includes(effort)) return
  throw new ApiError(
    400,
    'unsupported_value',
    `'${param}' must be one of ${efforts.map((one) => JSON.stringify(one)).join(', ')} with ${id}, got ${JSON.stringify(effort)}`,
    { param },
  )
}

/** How hard a model thinks that is not told: medium when it cannot do without thinking and has the choice. */
export function defaultEffort(id: string): ReasoningEffort | undefined {
  const efforts = modelOf(id)?.efforts
  if (!efforts || efforts.includes('none')) return undefined
  return efforts.includes('medium') ? 'medium' : efforts[0]
}

/** List price in USD of what a call used; null when the model or its price is not known. */
export function costOf(id: string, usage: Record<string, unknown>): number | null {
  const price = modelOf(id)?.price
  if (!price) return null
  const count = (...keys: string[]) => {
    const found = keys.map((key) => usage[key]).find((value) => value !== undefined)
    // What a provider gives in place of a count costs nothing.
    return typeof found === 'number' && found > 0 ? found : 0
  }
  const cost =
    (count('prompt_tokens', 'input_tokens') * (price.input ?? 0) +
      count('completion_tokens', 'output_tokens') * (price.output ?? 0)) /
      1e6 +
    count('images') * (price.image?.[`${usage.quality} ${usage.size}`] ?? 0) +
    (count('seconds') / 60) * (price.minute ?? 0)
  // To a tenth of a millionth of a dollar: sums of floats carry more digits than they know.
  return Math.round(cost * 1e10) / 1e10
}
