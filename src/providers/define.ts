// What a provider is: one file of its own beside this one, and a line in the registry.

import type { CompatibleApi } from '../contract/core/wire.ts'
import type { ReasoningEffort } from '../contract/router/shared.ts'
import type { Vocabulary } from '../lib/tokens.ts'
import type { ErrorShape, ProviderRefusal } from './error-messages.ts'
import type { ModelPackage } from './model-package.ts'
import { openaiError, openaiQuota } from './openai-family.ts'
import type { QuotaCountdown } from './quota-headers.ts'
import type { ParameterRule } from './rules/parameter-rule.ts'
import type { HistoryRule } from './rules/rule.ts'

type Modality = 'text' | 'image' | 'audio' | 'embedding'
/** What is known of one model. What is left out is not known, and restricts nothing. */
export interface Model {
  /** Tokens of input and output together. */
  context?: number
  /** Tokens of input, where fewer are allowed than the context has. */
  maxInput?: number
  /** Tokens of output, reasoning included. */
  maxOutput?: number
  input: readonly Modality[]
  output: readonly Modality[]
  /** USD: a million tokens in and out, a picture by quality and size, a minute of audio. The standard rate, without caching. */
  price: { input?: number; output?: number; image?: Readonly<Record<string, number>>; minute?: number }
  /** Length of an embedding, and whether a call may ask for a shorter one. */
  dimensions?: number
  shortens?: boolean
  /** What its token ids mean; o200k when left out. */
  vocabulary?: Vocabulary
  /** The reasoning efforts it takes; any when left out. */
  efforts?: readonly ReasoningEffort[]
}

/** Day of the newest entry in the tables of models; some entries are older. `openai.ts` names the lists that they come from. */
export const MODEL_TABLE_DATE = '2026-10-07'

/** Modalities of a model that reads only text. */
export const text = ['text'] as const
/** Modalities of a model that reads text and images. */
export const seeing = ['text', 'image'] as const
/** Modalities of a model that reads text, images and audio. */
export const hearing = ['text', 'image', 'audio'] as const

/** What a model that generates text has beside its price. */
type ChatFacts = Partial<Omit<Model, 'input' | 'output' | 'price'>> & { reads?: Model['input'] }
/**
 * A model that generates text, with its price in USD per million input and output tokens.
 * @example
 * chat([2.5, 10], { context: 128_000 }).price // => { input: 2.5, output: 10 }
 */
export const chat = (
  price: readonly [input: number, output: number],
  { reads = seeing, ...facts }: ChatFacts,
): Model => ({
  input: reads,
  output: text,
  price: { input: price[0], output: price[1] },
  ...facts,
})
/** An embedding model: context window in tokens, price in USD per million tokens, and dimensions. */
export const embedding = (context: number, input: number, dimensions: number, shortens = false): Model => ({
  context,
  input: text,
  output: ['embedding'],
  price: { input },
  dimensions,
  shortens,
})
/** The same model with the vocabulary `cl100k`. */
export const older = (model: Model): Model => ({ ...model, vocabulary: 'cl100k' })

/** Where a provider is reached, what its key is called, and which operations it has. */
export interface ProviderEndpoint {
  /** Address before `/chat/completions`; absent where each customer has one of their own. */
  baseUrl?: string
  /** Environment variable that usually holds the key; a provider without one asks for none. */
  keyVariable?: string
  /** The compatible API that it speaks, so that requests of its clients are passed on to it: OpenAI's, unless it has a `modelPackage`. */
  api?: CompatibleApi
  /** Header of the key when that is not `authorization: Bearer`. */
  keyHeader?: string
  /** Names of the operations it has; any when left out. */
  operations?: readonly string[]
  /** Refuses `stream_options`: its streams carry usage unasked. */
  countsUnasked?: boolean
  /** The address of an operation when that is not its path behind the base address. */
  address?(baseUrl: string, call: { operation: string; path: string; model: string }): string
  /** How to connect to one with a wire format of its own; the others speak that of OpenAI. */
  modelPackage?: ModelPackage
}

/** All that is known of a provider. */
export interface Provider {
  /** What stands before the slash of a model id. */
  readonly name: string
  /** Its models by what stands after it. */
  readonly models: Readonly<Record<string, Model>>
  /** Which of its models that generate text cannot call tools, listed or not. */
  readonly withoutTools?: RegExp
  /** Absent when calls are not forwarded to it. */
  readonly endpoint?: ProviderEndpoint
  /** How it tells a refusal. */
  error(refusal: ProviderRefusal): ErrorShape
  /** How it counts a quota down. */
  readonly quota: QuotaCountdown
  /** Whether it says in headers when to call again. */
  readonly sendsRetryAfter: boolean
  /** Whether it refuses what it takes for unsafe; others end the answer for that reason. */
  readonly refusesUnsafe: boolean
  /** Which conversations it rejects, most telling first; one without sourced rules accepts all. */
  readonly history: readonly HistoryRule[]
  /** Which parameters it rejects, in the order in which they are checked. */
  readonly parameters: readonly ParameterRule[]
}

/**
 * A provider, which is like OpenAI in all that is left out.
 * @example
 * defineProvider({ name: 'acme' }).sendsRetryAfter // => true
 * defineProvider({ name: 'acme', sendsRetryAfter: false }).sendsRetryAfter // => false
 */
export const defineProvider = (own: Partial<Provider> & Pick<Provider, 'name'>): Provider => ({
  models: {},
  error: openaiError,
  quota: openaiQuota,
  sendsRetryAfter: true,
  refusesUnsafe: false,
  history: [],
  parameters: [],
  ...own,
})
