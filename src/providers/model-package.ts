// How a provider with a wire format of its own is reached: the package that translates, and the few things only it has.
import type { EmbeddingModelV4, JSONObject, LanguageModelV4 } from '@ai-sdk/provider'

/** What a package connects with. */
interface ConnectionSettings {
  baseURL: string
  apiKey: string
  generateId(): string
  fetch: typeof fetch
}

/** What a package makes of a provider. */
export interface PackageModels {
  languageModel(id: string): LanguageModelV4
  embeddingModel(id: string): EmbeddingModelV4
}

/** What a call asks for that every provider has its own options for. */
export interface ThinkingOptions {
  /** Whether it asks to think: not to, by an effort, within a budget, or as the model sees fit. */
  mode: 'unasked' | 'none' | 'effort' | 'budget' | 'adaptive'
  /** Tokens to think with. */
  budget?: number | undefined
  level?: string | undefined
  /** Whether one tool may be called at a time only. */
  serial: boolean
}

/** Marks on what a model thinks and calls, which are to be sent back with it. */
interface ThoughtMarks {
  signature?: unknown
  /** A thought that nobody may read. */
  redacted?: unknown
  /** The mark of a tool call. */
  call?: unknown
}

/** A model package and what only its provider has. */
export interface ModelPackage {
  /** The name under which it takes options and gives metadata. */
  readonly key: string
  /** Whether models stand in its paths. */
  readonly modelsInPaths?: true
  /** Loads the package, and connects. */
  connect(settings: ConnectionSettings): Promise<PackageModels>
  /** Its options for a call. */
  callOptions(asked: ThinkingOptions): JSONObject
  /** Its options for the end of a prefix that the provider shall keep. */
  cacheOptions?(mark: { type: string; ttl: string }): JSONObject
  /** Its options for a thought that is sent back. */
  thoughtOptions?(marks: { signature?: string; redacted?: string }): JSONObject
  /** Its options for a signed call that is sent back. */
  signedCallOptions?(signature: string): JSONObject
  /** The marks in its metadata of a part. */
  marksOf(metadata: Readonly<Record<string, unknown>>): ThoughtMarks
}
