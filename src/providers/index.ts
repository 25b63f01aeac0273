// The registry of providers.
import { anthropicProvider } from './anthropic.ts'
import { awsProvider } from './aws.ts'
import { azureProvider } from './azure.ts'
import { cohereProvider } from './cohere.ts'
import { deepseekProvider } from './deepseek.ts'
import { defineProvider, type Provider } from './define.ts'
import { fireworksProvider } from './fireworks.ts'
import { googleProvider } from './google.ts'
import { groqProvider } from './groq.ts'
import { mistralProvider } from './mistral.ts'
import { ollamaProvider } from './ollama.ts'
import { openaiProvider } from './openai.ts'
import { openrouterProvider } from './openrouter.ts'
import { perplexityProvider } from './perplexity.ts'
import { togetherProvider } from './together.ts'
import { xaiProvider } from './xai.ts'

/** All providers, in the order of the documentation. */
export const PROVIDERS: readonly Provider[] = [
  anthropicProvider,
  awsProvider,
  azureProvider,
  cohereProvider,
  deepseekProvider,
  fireworksProvider,
  googleProvider,
  groqProvider,
  mistralProvider,
  ollamaProvider,
  openaiProvider,
  openrouterProvider,
  perplexityProvider,
  togetherProvider,
  xaiProvider,
]

const byName = new Map(PROVIDERS.map((provider) => [provider.name, provider]))
/** A provider that is not listed, which is like OpenAI. */
const UNLISTED = defineProvider({ name: '' })

/** A provider by name. Undefined if it is not listed. */
export const listedProvider = (name: string): Provider | undefined => byName.get(name)

/** A provider by name. One that is not listed is like OpenAI. */
export const providerNamed = (name: string): Provider => byName.get(name) ?? UNLISTED
