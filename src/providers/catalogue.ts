// What is known of models: how much they read, and what they cost. List prices and limits as the providers published them; a
// model that is not listed works too, without limits and without a cost.
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
      PROVIDERS.flatMap(({ name, models = {} }) =>
        Object.entries(models).map(([model, about]) => [`${name}/${model}`, about] as const),
      ),
    ),
)

/** What may follow a listed name without making it another model: a date, a number of a version, or what such names begin with. */
const VERSION = /^[-@:](?:latest|preview|\d{3}|\d{2}-\d{2})/

/** What is known of a model id, undefined when it is not listed; a dated id is the longest listed one that it begins with. */
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

// Models of any provider that generate something else than text, or that only judge.
const NO_CHAT =
  /(?:^|[-_/.:])(?:embed|embedding|embeddings|rerank|reranker|whisper|tts|transcribe|moderation|guard|dall-e|imagen|image|flux|sdxl|stable-diffusion|ocr|aqa)(?:$|[-_/.:\d])/i

/** Whether a model can call tools; of one that is not listed, its name tells when it cannot. */
export function canCallTools(id: string): boolean {
  const slash = id.indexOf('/')
  const name = id.slice(slash + 1)
  if (NO_CHAT.test(name) || listedProvider(id.slice(0, slash))?.withoutTools?.test(name)) return false
  return modelOf(id)?.output.includes('text') ?? true
}

/** The vocabulary that a model's token ids belong to. */
export const vocabularyOf = (id: string): Vocabulary => modelOf(id)?.vocabulary ?? 'o200k'

/** How many tokens of input a model takes; undefined when that is not known. */
export function inputLimit(id: string): number | undefined {
  const model = modelOf(id)
  return model?.maxInput ?? model?.context
}

/** 400 when a model is known not to take a reasoning effort. */
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
  const tokens =
    countOf(usage.prompt_tokens === undefined ? usage.input_tokens : usage.prompt_tokens) * (price.input ?? 0) +
    countOf(usage.completion_tokens === undefined ? usage.output_tokens : usage.completion_tokens) * (price.output ?? 0)
  const images = countOf(usage.images) * (price.image?.[`${usage.quality} ${usage.size}`] ?? 0)
  const minutes = countOf(usage.seconds) / 60
  const cost = tokens / 1e6 + images + minutes * (price.minute ?? 0)
  // To a tenth of a millionth of a dollar: sums of floats carry more digits than they know.
  return Math.round(cost * 1e10) / 1e10
}

/** What a provider gives in place of a count costs nothing. */
const countOf = (found: unknown): number => (typeof found === 'number' && found > 0 ? found : 0)
