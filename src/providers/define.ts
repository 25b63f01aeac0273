// Types and helpers for defining a provider. Each one has its own file here and a line in the registry.

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
/** The data of a model. Omitted fields are unknown and do not limit calls. */
export interface Model {
  /** Context window: maximum tokens of input and output together. */
  context?: number
  /** Maximum input tokens, if fewer than the context window. */
  maxInput?: number
  /** Maximum output tokens, including reasoning. */
  maxOutput?: number
  input: readonly Modality[]
  output: readonly Modality[]
  /** Prices in USD: per million input and output tokens, per image by quality and size, per minute of audio. Without caching. */
  price: { input?: number; output?: number; image?: Readonly<Record<string, number>>; minute?: number }
  /** Length of an embedding. */
  dimensions?: number
  /** Whether a call may request a shorter embedding. */
  shortens?: boolean
  /** Token vocabulary. Default: o200k. */
  vocabulary?: Vocabulary
  /** Supported reasoning efforts. Default: all. */
  efforts?: readonly ReasoningEffort[]
}

/** Date of the newest entry in the model tables. Their sources are listed in `openai.ts`. */
export const MODEL_TABLE_DATE = '2026-10-07'

/** Modalities of a model that reads only text. */
export const text = ['text'] as const
/** Modalities of a model that reads text and images. */
export const seeing = ['text', 'image'] as const
/** Modalities of a model that reads text, images and audio. */
export const hearing = ['text', 'image', 'audio'] as const

/** The data of a text model besides its price. */
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
/** A model with the vocabulary `cl100k`. */
export const older = (model: Model): Model => ({ ...model, vocabulary: 'cl100k' })

/** How to connect to a provider. */
export interface ProviderEndpoint {
  /** Base URL. Undefined if each customer has a separate one. */
  baseUrl?: string
  /** Environment variable of the key. Undefined if no key is needed. */
  keyVariable?: string
  /** The compatible API that it implements. Default: OpenAI's, unless it has a `modelPackage`. */
  api?: CompatibleApi
  /** Header of the key. Default: `authorization: Bearer`. */
  keyHeader?: string
  /** Names of its operations. Default: all. */
  operations?: readonly string[]
  /** Whether it rejects `stream_options`, because its streams always contain usage. */
  countsUnasked?: boolean
  /** The URL of an operation. Default: the base URL and the operation's path. */
  address?(baseUrl: string, call: { operation: string; path: string; model: string }): string
  /** The package for a provider with its own wire format. Others use OpenAI's. */
  modelPackage?: ModelPackage
}

/** A provider. */
export interface Provider {
  /** Its name: the part of a model id before the slash. */
  readonly name: string
  /** Its models by name: the part of a model id after the slash. */
  readonly models: Readonly<Record<string, Model>>
  /** Matches the names of text models that cannot call tools. */
  readonly withoutTools?: RegExp
  /** Undefined if calls cannot be forwarded to it. */
  readonly endpoint?: ProviderEndpoint
  /** Creates an error response in its format. */
  error(refusal: ProviderRefusal): ErrorShape
  /** Its quota headers. */
  readonly quota: QuotaCountdown
  /** Whether it sends `Retry-After` headers. */
  readonly sendsRetryAfter: boolean
  /** Whether it rejects unsafe requests with an error. Others end the response with a finish reason. */
  readonly refusesUnsafe: boolean
  /** Rules for conversations that it rejects, most specific first. Without rules, it accepts all. */
  readonly history: readonly HistoryRule[]
  /** Rules for parameters that it rejects, in order of their checks. */
  readonly parameters: readonly ParameterRule[]
}

/**
 * Defines a provider. Omitted fields are those of OpenAI.
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
