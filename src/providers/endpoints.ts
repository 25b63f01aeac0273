// Where each provider is reached, what its key is called, and which operations it has.

export const PROVIDER_KINDS = ['openai-compatible', 'anthropic', 'google'] as const
/** The wire format that a provider speaks. */
export type ProviderKind = (typeof PROVIDER_KINDS)[number]

/** What is known of a provider's own API. */
export interface ProviderEndpoint {
  kind: ProviderKind
  /** Address before `/chat/completions`; absent where each customer has one of their own. */
  baseUrl?: string
  /** Environment variable that usually holds the key; a provider without one asks for none. */
  keyVariable?: string
  /** Header of the key when that is not `authorization: Bearer`. */
  keyHeader?: string
  /** Names of the operations it has; any when left out. */
  operations?: readonly string[]
  /** Refuses `stream_options`: its streams carry usage unasked. */
  countsUnasked?: boolean
  /** The model stands in the path, as the name of a deployment. */
  deployments?: boolean
}

const chat = 'chat.completions'
const completions = 'completions'
const responses = 'responses'
const embeddings = 'embeddings'
const images = 'images.generations'
const translations = 'audio.translations'

const compatible = (
  baseUrl: string,
  keyVariable: string | undefined,
  operations: readonly string[],
  more: Partial<ProviderEndpoint> = {},
): ProviderEndpoint => ({
  kind: 'openai-compatible',
  baseUrl,
  ...(keyVariable ? { keyVariable } : {}),
  operations,
  ...more,
})

/** Providers that can be forwarded to, by name. */
export const ENDPOINTS: Readonly<Record<string, ProviderEndpoint>> = {
  anthropic: {
    kind: 'anthropic',
    baseUrl: 'https://api.anthropic.com/v1',
    keyVariable: 'ANTHROPIC_API_KEY',
    operations: [chat],
  },
  azure: {
    kind: 'openai-compatible',
    keyVariable: 'AZURE_OPENAI_API_KEY',
    keyHeader: 'api-key',
    deployments: true,
  },
  cohere: compatible('https://api.cohere.ai/compatibility/v1', 'COHERE_API_KEY', [chat, embeddings]),
  deepseek: compatible('https://api.deepseek.com', 'DEEPSEEK_API_KEY', [chat]),
  fireworks: compatible('https://api.fireworks.ai/inference/v1', 'FIREWORKS_API_KEY', [
    chat,
    completions,
    responses,
    embeddings,
  ]),
  google: {
    kind: 'google',
    baseUrl: 'https://generativelanguage.googleapis.com/v1beta',
    keyVariable: 'GEMINI_API_KEY',
    operations: [chat, embeddings],
  },
  groq: compatible('https://api.groq.com/openai/v1', 'GROQ_API_KEY', [chat, responses, translations]),
  mistral: compatible('https://api.mistral.ai/v1', 'MISTRAL_API_KEY', [chat, embeddings], { countsUnasked: true }),
  ollama: compatible('http://localhost:11434/v1', undefined, [chat, completions, responses, embeddings]),
  openai: { kind: 'openai-compatible', baseUrl: 'https://api.openai.com/v1', keyVariable: 'OPENAI_API_KEY' },
  openrouter: compatible('https://openrouter.ai/api/v1', 'OPENROUTER_API_KEY', [
    chat,
    completions,
    responses,
    embeddings,
  ]),
  perplexity: compatible('https://api.perplexity.ai', 'PERPLEXITY_API_KEY', [chat], { countsUnasked: true }),
  together: compatible('https://api.together.xyz/v1', 'TOGETHER_API_KEY', [
    chat,
    completions,
    embeddings,
    images,
    translations,
  ]),
  xai: compatible('https://api.x.ai/v1', 'XAI_API_KEY', [chat, responses, images]),
}

/** Where a provider listens, as far as that is known. */
export function addressOf(provider: string): { host: string; port: string } {
  const { protocol, hostname, port } = new URL(ENDPOINTS[provider]?.baseUrl ?? `https://${provider}.invalid`)
  return { host: hostname, port: port || (protocol === 'http:' ? '80' : '443') }
}

/** What a provider of any other name is like, by kind. */
export const endpointOf = (name: string, kind: ProviderKind | undefined): ProviderEndpoint => {
  const known = ENDPOINTS[name]
  if (known && (kind === undefined || kind === known.kind)) return known
  switch (kind) {
    case 'anthropic':
    case 'google':
      return ENDPOINTS[kind] as ProviderEndpoint
    default:
      return { kind: 'openai-compatible' }
  }
}

/** A provider that calls are forwarded to: its endpoint as configured. */
export interface Upstream extends ProviderEndpoint {
  /** What stands before the slash of a model id. */
  name: string
  key?: string
  /** Calls are made without a key when there is none. */
  keyOptional: boolean
}

/** Why a provider cannot be called as it is configured, as one line that says what to do; undefined when it can. */
export function lackOf({ name, baseUrl, key, keyVariable, keyOptional }: Upstream): string | undefined {
  if (baseUrl === undefined) return `${name} has no address: set providers.${name}.base_url in understudy.yaml`
  if (key !== undefined || keyVariable === undefined || keyOptional) return undefined
  return `${name} needs a key: set ${keyVariable}, or providers.${name}.api_key in understudy.yaml`
}
