// The providers that a model id may name.
import { ApiError } from '../contract/error.ts'

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

const known = new Set<string>(PROVIDERS)

/** The provider of a model id; 404 `model_not_found` when nobody goes by that name. */
export function providerOf(model: string): string {
  const provider = model.slice(0, model.indexOf('/'))
  if (known.has(provider)) return provider
  throw new ApiError(
    404,
    'model_not_found',
    `model ${JSON.stringify(model)} has no known provider; known: ${PROVIDERS.join(', ')}`,
    {
      param: 'model',
    },
  )
}
