// Images on the wire (SPEC.md, "Generate images" and "Image result"; WIRE.md), with the rules of each model in one table.
import { z } from 'zod'
import type { ImageSpec } from '../lib/image.ts'
import { Timing } from './script.ts'
import { ModelId, Routing, ServiceOptions } from './shared.ts'
import type { Problem } from './validation.ts'

/** Fields whose values are a matter of the model. */
const CHOICES = ['size', 'quality', 'style', 'background', 'moderation', 'output_format', 'response_format'] as const
type Choice = (typeof CHOICES)[number]

/** What one model takes and gives. */
export interface ImageRules {
  /** Characters of the longest prompt. */
  prompt: number
  /** Most pictures of one call. */
  n: number
  /** The values of each field, the first of which is what `auto` and leaving it out mean; a field without any is refused. */
  choices: Readonly<Partial<Record<Choice, readonly string[]>>>
  /** Whether it takes `output_compression`. */
  compresses?: boolean
  /** Whether it writes the prompt anew and says so. */
  revises?: boolean
  /** Tokens of one picture, by quality and size; given by models that count them. */
  tokens?: Readonly<Record<string, Readonly<Record<string, number>>>>
}

/** The image models by id. Limits, defaults and token counts as OpenAI published them. */
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
      // It always answers so; clients that ask for it by name are not turned away.
      response_format: ['b64_json'],
    },
    compresses: true,
    tokens: {
      low: { '1024x1024': 272, '1024x1536': 408, '1536x1024': 400 },
      medium: { '1024x1024': 1056, '1024x1536': 1584, '1536x1024': 1568 },
      high: { '1024x1024': 4160, '1024x1536': 6240, '1536x1024': 6208 },
    },
  },
}

const listed = (values: readonly string[]) => values.map((value) => JSON.stringify(value)).join(', ')

/** A field that is checked against the model's rules: the document names its values, `imageProblems` holds them. */
function choice(field: Choice, about: string) {
  const rows = Object.entries(IMAGE_MODELS).flatMap(([model, { choices }]) => {
    const values = choices[field]
    return values ? [`${model} takes ${values.map((value) => `\`${value}\``).join(', ')}`] : []
  })
  const all = [...new Set(Object.values(IMAGE_MODELS).flatMap(({ choices }) => choices[field] ?? []))]
  return z
    .string()
    .meta({ enum: all })
    .nullish()
    .describe(`${about} ${rows.join('; ')}. The first is the default.`)
}

/** The body of `POST /v2/router/images/generations`; unknown fields are kept. */
export const ImageRequest = z
  .looseObject({
    prompt: z.string().min(1).describe('What the pictures show.'),
    model: ModelId.describe(`One of ${Object.keys(IMAGE_MODELS).join(', ')}.`).meta({
      examples: Object.keys(IMAGE_MODELS),
    }),
    n: z.int().min(1).max(10).nullish().describe('Number of pictures, 1 when left out; openai/dall-e-3 makes only 1.'),
    size: choice('size', 'Width and height in pixels.'),
    quality: choice('quality', 'How much detail.'),
    style: choice('style', 'How dramatic.'),
    background: choice('background', 'Whether it is cut out; transparent needs png or webp.'),
    moderation: choice('moderation', 'How strictly prompts are checked.'),
    output_format: choice('output_format', 'The file format.'),
    output_compression: z
      .int()
      .min(0)
      .max(100)
      .nullish()
      .describe('Quality that is kept, in percent; needs `output_format` jpeg or webp of openai/gpt-image-1.'),
    response_format: choice('response_format', 'The picture itself or its address.'),
    user: z.string().nullish().describe('The end user.'),
    metadata: z.looseObject({}).nullish().describe('Stored in the trace.'),
    ...Routing,
    svc: ServiceOptions.nullish(),
  })
  .superRefine((body, context) => {
    const rules = IMAGE_MODELS[body.model]
    if (!rules) return
    for (const { path, message } of imageProblems(body, body.model, rules))
      context.addIssue({ code: 'custom', path, message })
  })
export type ImageRequest = z.infer<typeof ImageRequest>

type Checked = { prompt: string; n?: number | null; output_compression?: number | null } & {
  [field in Choice]?: string | null
}

/** What of a request a model does not take, as `<field> <message>`. */
export function imageProblems(request: Checked, model: string, rules: ImageRules): Problem[] {
  const problems: Problem[] = []
  const refuse = (field: string, message: string) => problems.push({ path: [field], message })
  if (request.prompt.length > rules.prompt)
    refuse('prompt', `must be at most ${rules.prompt} characters for ${model}, is ${request.prompt.length}`)
  if ((request.n ?? 1) > rules.n) refuse('n', `must be at most ${rules.n} for ${model}`)
  for (const field of CHOICES) {
    const value = request[field]
    const values = rules.choices[field]
    if (value == null || values?.includes(value)) continue
    if (values) refuse(field, `must be ${values.length > 1 ? 'one of ' : ''}${listed(values)} for ${model}`)
    else
      refuse(
        field,
        unsupported(model, (other) => other.choices[field] !== undefined),
      )
  }
  const { output_format: format, output_compression: compression, background } = request
  if (compression != null && !rules.compresses)
    refuse(
      'output_compression',
      unsupported(model, (other) => other.compresses === true),
    )
  else if (compression != null && (format == null || format === 'png'))
    refuse('output_compression', `needs 'output_format' to be "jpeg" or "webp" for ${model}`)
  if (background === 'transparent' && format === 'jpeg')
    refuse('background', `must be "opaque" or "auto" for ${model} when 'output_format' is "jpeg", which has no alpha`)
  return problems
}

const unsupported = (model: string, takes: (rules: ImageRules) => boolean) => {
  const takers = Object.keys(IMAGE_MODELS).filter((name) => takes(IMAGE_MODELS[name] as ImageRules))
  return `is not supported by ${model}: leave it out, or use ${takers.join(' or ')}`
}

/** The values that a call which has no problems comes to, with the model's defaults filled in. */
export function choicesOf(request: Checked, { choices }: ImageRules): { [field in Choice]?: string } {
  const settled = CHOICES.map((field) => {
    const value = request[field]
    return [field, value == null || value === 'auto' ? choices[field]?.[0] : value]
  })
  return Object.fromEntries(settled)
}

const integer = z.int().min(0)

/** Token counts of a call. */
export const ImageUsage = z.object({
  input_tokens: integer,
  input_tokens_details: z.object({ image_tokens: integer, text_tokens: integer }),
  output_tokens: integer,
  total_tokens: integer,
})
export type ImageUsage = z.infer<typeof ImageUsage>

/** The answer: each picture has either `url` or `b64_json`. */
export const ImageResult = z.object({
  created: z.int(),
  data: z.array(
    z.object({
      revised_prompt: z.string().optional().describe('Only of openai/dall-e-3.'),
      b64_json: z.string().optional(),
      url: z.string().optional().describe('Serves the file for an hour, without a token.'),
    }),
  ),
  usage: ImageUsage.optional().describe('Only of openai/gpt-image-1.'),
})
export type ImageResult = z.infer<typeof ImageResult>

/** What a fixture says under `reply` of an image call. */
export const ImageScript = z.strictObject({
  prompt: z.string().min(1).optional().describe("Draws the pictures of this prompt instead of the call's own."),
  revised_prompt: z.string().min(1).optional().describe('Shown by models that have it: openai/dall-e-3.'),
  timing: Timing.optional(),
})
export type ImageScript = z.infer<typeof ImageScript>

/** Kind under which a session keeps the pictures that its answers point at. */
export const FILE_KIND = 'file'
/** How long an address of a picture works, in milliseconds. */
export const FILE_LIFE = 3_600_000
/** A kept picture: what it is drawn from, which is small, and until when (ms since the epoch). */
export interface KeptFile {
  picture: ImageSpec
  expires: number
}
