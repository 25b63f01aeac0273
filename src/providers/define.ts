// What a provider is: one file of its own beside this one, and a line in the registry.

import type { CompatibleApi } from '../contract/core/wire.ts'
import type { ReasoningEffort } from '../contract/router/shared.ts'
import type { Vocabulary } from '../lib/tokens.ts'
import type { ErrorShape, ProviderRefusal } from './error-messages.ts'
import type { ModelPackage } from './model-package.ts'
import { openaiError, openaiQuota } from './openai-family.ts'
import type { QuotaCountdown } from './quota-headers.ts'
import type { HistoryRule } from './rules/rule.ts'

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

/** Modalities of a model that reads only text. */
export const text = ['text'] as const
/** Modalities of a model that reads text and images. */
export const seeing = ['text', 'image'] as const
/**
 * A chat model: context window in tokens, and prices in USD per million input and output tokens.
 * @example
 * chat(128_000, 2.5, 10).price // => { input: 2.5, output: 10 }
 */
export const chat = (context: number, input: number, output: number, reads: readonly Modality[] = seeing): Model => ({
  context,
  input: reads,
  output: text,
  price: { input, output },
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

// The families that the specification describes by what their reasoning effort may be.
/** The same model with the reasoning efforts that it accepts. */
export const thinking = (model: Model, ...efforts: ReasoningEffort[]): Model => ({ ...model, efforts })
/** Reasoning efforts of models that always reason (the specification, "Create a chat completion"). */
export const classic = ['minimal', 'low', 'medium', 'high'] as const
/** Reasoning efforts of models that can skip reasoning (the specification, "Create a chat completion"). */
export const choosing = ['none', 'low', 'medium', 'high'] as const

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
  ...own,
})
