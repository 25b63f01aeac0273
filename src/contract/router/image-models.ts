// What each image model supports (the specification, "Generate images"), as one table, and the problems of a request.
import type { Problem } from '../core/problem.ts'

/** Fields whose valid values depend on the model. */
const CHOICES = ['size', 'quality', 'style', 'background', 'moderation', 'output_format', 'response_format'] as const
/** Name of a request field whose valid values depend on the image model. */
export type ImageChoice = (typeof CHOICES)[number]

/** What one model supports. */
interface ImageRules {
  /** Maximum length of the prompt, in characters. */
  prompt: number
  /** Maximum number of images of one call. */
  n: number
  /**
   * The values of each field. The first one is the meaning of `auto` and the default. A field without values is
   * rejected.
   */
  choices: Readonly<Partial<Record<ImageChoice, readonly string[]>>>
  /** Accepts any size up to so many pixels per side, not only the listed ones. */
  longestSide?: number
  /** Whether it supports `output_compression`. */
  compresses?: boolean
  /** Whether it streams, with partial images. */
  streams?: boolean
  /** Whether it revises the prompt and returns the revision. */
  revises?: boolean
  /** Tokens of one image by quality and size, for models that count them. */
  tokens?: Readonly<Record<string, Readonly<Record<string, number>>>>
}

/** The image models by id. Limits, defaults and token counts are those that OpenAI published. */
export const IMAGE_MODELS: Readonly<Record<string, ImageRules>> = {
  'openai/dall-e-2': {
    prompt: 1_000,
    n: 10,
    choices: {
      size: ['1024x1024', '512x512', '256x256'],
      quality: ['standard', 'auto'],
      response_format: ['url', 'b64_json'],
    },
  },
  'openai/dall-e-3': {
    prompt: 4_000,
    n: 1,
    choices: {
      size: ['1024x1024', '1792x1024', '1024x1792'],
      quality: ['standard', 'hd', 'auto'],
      style: ['vivid', 'natural'],
      response_format: ['url', 'b64_json'],
    },
    revises: true,
  },
  'openai/gpt-image-1': {
    prompt: 32_000,
    n: 10,
    choices: {
      size: ['1024x1024', '1536x1024', '1024x1536', 'auto'],
      quality: ['high', 'medium', 'low', 'auto'],
      background: ['opaque', 'transparent', 'auto'],
      moderation: ['auto', 'low'],
      output_format: ['png', 'jpeg', 'webp'],
      // It always responds so; clients that request it explicitly are accepted.
      response_format: ['b64_json'],
    },
    compresses: true,
    streams: true,
    tokens: {
      low: { '1024x1024': 272, '1024x1536': 408, '1536x1024': 400 },
      medium: { '1024x1024': 1056, '1024x1536': 1584, '1536x1024': 1568 },
      high: { '1024x1024': 4160, '1024x1536': 6240, '1536x1024': 6208 },
    },
  },
}

/** Rules of an unlisted model: everything that any image model supports. */
const UNLISTED: ImageRules = {
  prompt: 32_000,
  n: 10,
  choices: {
    size: ['1024x1024', 'auto'],
    quality: ['standard', 'hd', 'high', 'medium', 'low', 'auto'],
    style: ['vivid', 'natural'],
    background: ['opaque', 'transparent', 'auto'],
    moderation: ['auto', 'low'],
    output_format: ['png', 'jpeg', 'webp'],
    response_format: ['url', 'b64_json'],
  },
  longestSide: 2_048,
  compresses: true,
  streams: true,
}

/** The rules of a model id. A dated id such as `openai/gpt-image-1-2025-04-23` has those of its model. */
export const imageRules = (model: string): ImageRules =>
  IMAGE_MODELS[Object.keys(IMAGE_MODELS).find((name) => model === name || model.startsWith(`${name}-`)) ?? ''] ??
  UNLISTED

/** Every value of a field that some model supports. */
export const valuesOf = (field: ImageChoice): string[] => [
  ...new Set([...Object.values(IMAGE_MODELS), UNLISTED].flatMap(({ choices }) => choices[field] ?? [])),
]

/** The fields of a request that a model may reject. */
type ImageOptions = {
  prompt: string
  n?: number | null
  output_compression?: number | null
  stream?: boolean | null
} & {
  [field in ImageChoice]?: string | null
}

/** The problems of a request for a model. */
export function imageProblems(wish: ImageOptions, model: string): Problem[] {
  const rules = imageRules(model)
  const problems: Problem[] = []
  const refuse = (field: string, message: string) => problems.push({ path: [field], message })
  const omit = (field: string, takes: (rules: ImageRules) => boolean) => refuse(field, unsupported(model, takes))
  if (wish.prompt.length > rules.prompt)
    refuse('prompt', `must be at most ${rules.prompt} characters for ${model}, is ${wish.prompt.length}`)
  if ((wish.n ?? 1) > rules.n) refuse('n', `must be at most ${rules.n} for ${model}`)
  for (const field of CHOICES) {
    const value = wish[field]
    const values = rules.choices[field]
    if (value == null || values?.includes(value)) continue
    if (!values) omit(field, (other) => other.choices[field] !== undefined)
    else if (field !== 'size' || !fits(value, rules)) refuse(field, mustBe(field, model, rules))
  }
  const { output_format: format, output_compression: compression, background } = wish
  if (compression != null && !rules.compresses) omit('output_compression', (other) => other.compresses === true)
  else if (compression != null && compression !== 100 && (format == null || format === 'png'))
    refuse('output_compression', `must be 100 or left out for ${model} unless 'output_format' is "jpeg" or "webp"`)
  if (wish.stream && !rules.streams) omit('stream', (other) => other.streams === true)
  else if (wish.stream && (wish.n ?? 1) > 1) refuse('n', 'must be 1 when the picture is streamed')
  if (background === 'transparent' && format === 'jpeg')
    refuse('background', `must be "opaque" or "auto" for ${model} when 'output_format' is "jpeg", which has no alpha`)
  return problems
}

const SIDE = 16
/** Width and height of `<width>x<height>`; NaN if it is something else. */
export const sidesOf = (size: string): [width: number, height: number] => {
  const [, width, height] = /^(\d{1,5})x(\d{1,5})$/.exec(size) ?? []
  return [Number(width), Number(height)]
}
const fits = (size: string, { longestSide = 0 }: ImageRules) =>
  sidesOf(size).every((side) => side >= SIDE && side <= longestSide)

function mustBe(field: ImageChoice, model: string, { choices, longestSide }: ImageRules): string {
  const values = (choices[field] ?? []).map((value) => JSON.stringify(value))
  if (field === 'size' && longestSide)
    return `must be "auto" or "<width>x<height>" of ${SIDE} to ${longestSide} pixels a side for ${model}`
  return `must be ${values.length > 1 ? 'one of ' : ''}${values.join(', ')} for ${model}`
}

function unsupported(model: string, takes: (rules: ImageRules) => boolean): string {
  const takers = Object.entries(IMAGE_MODELS).flatMap(([name, rules]) => (takes(rules) ? [name] : []))
  return `must be left out: ${model} does not take it, ${takers.join(' and ')} ${takers.length > 1 ? 'do' : 'does'}`
}

/** The values of a valid request, with the model's defaults filled in. */
export function choicesOf(wish: ImageOptions, model: string): { [field in ImageChoice]?: string } {
  const { choices } = imageRules(model)
  const settled = CHOICES.map((field) => {
    const value = wish[field]
    return [field, value == null || value === 'auto' ? choices[field]?.[0] : value]
  })
  return Object.fromEntries(settled)
}
