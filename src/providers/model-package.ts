// Types of the packages that connect to providers with their own wire formats.
import type { GoogleProvider } from '@ai-sdk/google'

/** A model of chat. All packages share its types. */
export type LanguageModel = ReturnType<GoogleProvider['languageModel']>
/** A model of embeddings. */
export type EmbeddingModel = ReturnType<GoogleProvider['embeddingModel']>
/** A call of a model. */
export type CallOptions = Parameters<LanguageModel['doGenerate']>[0]
/** Options for packages, by their keys. */
export type ProviderOptions = NonNullable<CallOptions['providerOptions']>
/** Options for one package, as JSON. */
export type PackageOptions = ProviderOptions[string]

/** Settings for connecting a package. */
interface ConnectionSettings {
  baseURL: string
  apiKey: string
  generateId(): string
  fetch: typeof fetch
}

/** The models of a connected package. */
export interface PackageModels {
  languageModel(id: string): LanguageModel
  embeddingModel(id: string): EmbeddingModel
}

/** Options of a call that each provider names differently. */
export interface ThinkingOptions {
  /** How the model should think: default, not at all, by effort, within a budget, or adaptively. */
  mode: 'unasked' | 'none' | 'effort' | 'budget' | 'adaptive'
  /** Maximum thinking tokens. */
  budget?: number | undefined
  level?: string | undefined
  /** Whether the model may call only one tool at a time. */
  serial: boolean
}

/** Provider data of thoughts and tool calls, which must be sent back with them. */
interface ThoughtMarks {
  signature?: unknown
  /** The encrypted text of a redacted thought. */
  redacted?: unknown
  /** The signature of a tool call. */
  call?: unknown
}

/** A model package and its provider's options. */
export interface ModelPackage {
  /** The key of its options and metadata. */
  readonly key: string
  /** Whether its paths contain models. */
  readonly modelsInPaths?: true
  /** Loads and connects the package. */
  connect(settings: ConnectionSettings): Promise<PackageModels>
  /** The options for a call. */
  callOptions(thinking: ThinkingOptions): PackageOptions
  /** The options for the end of a prompt prefix that the provider should cache. */
  cacheOptions?(mark: { type: string; ttl: string }): PackageOptions
  /** The options for a thought that is sent back. */
  thoughtOptions?(marks: { signature?: string; redacted?: string }): PackageOptions
  /** The options for a signed call that is sent back. */
  signedCallOptions?(signature: string): PackageOptions
  /** The provider data in the metadata of a part. */
  marksOf(metadata: Readonly<Record<string, unknown>>): ThoughtMarks
}
