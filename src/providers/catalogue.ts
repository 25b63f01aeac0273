// Limits and prices of models, as the providers published them. Models that are not listed work too, without limits and cost.
import { ApiError } from '../contract/core/error.ts'
import type { ReasoningEffort } from '../contract/router/shared.ts'
import { once } from '../lib/once.ts'
import type { Vocabulary } from '../lib/tokens.ts'
import type { Model } from './define.ts'
import { listedProvider, PROVIDERS } from './index.ts'

/** All listed models by their ids. */
const listedModels = once(
  () =>
    new Map<string, Model>(
      PROVIDERS.flatMap(({ name, models }) =>
        Object.entries(models).map(([model, about]) => [`${name}/${model}`, about] as const),
      ),
    ),
)

/** Ids of the listed models. Others may exist. */
export const knownModels = (): string[] => [...listedModels().keys()]

/** Suffixes of a listed name that do not make it another model, such as a date or version. */
const VERSION = /^[-@:](?:latest|preview|\d{3}|\d{2}-\d{2})/

/** The data of a model, found by its id without date or version if necessary. Undefined if it is not listed. */
export function modelOf(id: string): Model | undefined {
  const listed = listedModels().get(id)
  if (listed) return listed
  const slash = id.indexOf('/')
  const models = listedProvider(id.slice(0, slash))?.models
  if (!models) return undefined
  const name = id.slice(slash + 1)
  const longest = Object.keys(models)
    .filter((listed) => name.startsWith(listed) && VERSION.test(name.slice(listed.length)))
    .sort((a, b) => b.length - a.length)[0]
  return longest === undefined ? undefined : models[longest]
}

// Models of any provider that do not generate text.
const NO_CHAT =
  /(?:^|[-_/.:])(?:embed|embedding|embeddings|rerank|reranker|whisper|tts|transcribe|moderation|guard|dall-e|imagen|image|flux|sdxl|stable-diffusion|ocr|aqa)(?:$|[-_/.:\d])/i

/** Whether a model can call tools, by its name if it is not listed. */
export function canCallTools(id: string): boolean {
  const slash = id.indexOf('/')
  const name = id.slice(slash + 1)
  if (NO_CHAT.test(name) || listedProvider(id.slice(0, slash))?.withoutTools?.test(name)) return false
  return modelOf(id)?.output.includes('text') ?? true
}

/** The token vocabulary of a model. */
export const vocabularyOf = (id: string): Vocabulary => modelOf(id)?.vocabulary ?? 'o200k'

/** Maximum input tokens of a model. Undefined if unknown. */
export function inputLimit(id: string): number | undefined {
  const model = modelOf(id)
  return model?.maxInput ?? model?.context
}

/**
 * Checks a reasoning effort.
 * @throws ApiError 400 if the model does not support it
 */
export function checkEffort(id: string, effort: ReasoningEffort | null | undefined, param: string): void {
  if (effort == null) return
  const efforts = modelOf(id)?.efforts
  if (!efforts || efforts.includes(effort)) return
  throw new ApiError(
    400,
    'unsupported_value',
    `'${param}' must be one of ${efforts.map((one) => JSON.stringify(one)).join(', ')} with ${id}, got ${JSON.stringify(effort)}`,
    { param },
  )
}

/** The default reasoning effort of a model that always reasons: `medium` if supported. Undefined for other models. */
export function defaultEffort(id: string): ReasoningEffort | undefined {
  const efforts = modelOf(id)?.efforts
  if (!efforts || efforts.includes('none')) return undefined
  return efforts.includes('medium') ? 'medium' : efforts[0]
}

/** Cost of a call in USD at list price. Null if the model or its price is unknown. */
export function costOf(id: string, usage: Record<string, unknown>): number | null {
  const price = modelOf(id)?.price
  if (!price) return null
  const tokens =
    countOf(usage.prompt_tokens === undefined ? usage.input_tokens : usage.prompt_tokens) * (price.input ?? 0) +
    countOf(usage.completion_tokens === undefined ? usage.output_tokens : usage.completion_tokens) * (price.output ?? 0)
  const images = countOf(usage.images) * (price.image?.[`${usage.quality} ${usage.size}`] ?? 0)
  const minutes = countOf(usage.seconds) / 60
  const cost = tokens / 1e6 + images + minutes * (price.minute ?? 0)
  // Rounded to 10 decimals to remove floating-point errors.
  return Math.round(cost * 1e10) / 1e10
}

/** A count of a provider. Invalid values count as 0. */
const countOf = (found: unknown): number => (typeof found === 'number' && found > 0 ? found : 0)
