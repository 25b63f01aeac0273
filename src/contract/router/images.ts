// Images on the wire (the specification, "Generate images" and "Image result"), and their fixture replies.

import { z } from 'zod'
import { type ImageSource, imageFormatOf } from '../../lib/media/image-format.ts'
import { describedList, describedObject } from '../core/described.ts'
import { IMAGE_MODELS, type ImageChoice, valuesOf } from './image-models.ts'
import { FileName, Timing } from './script.ts'
import { Identity, ModelId, Routing, ServiceOptions, Thread } from './shared.ts'

/** A field that is checked by the model's rules: the document lists its values, `imageProblems` checks them. */
function choice(field: ImageChoice, about: string) {
  const rows = Object.entries(IMAGE_MODELS).flatMap(([model, { choices }]) => {
    const values = choices[field]
    return values ? [`${model} takes ${values.map((value) => `\`${value}\``).join(', ')}`] : []
  })
  // Only sizes are open: other models have others.
  const values = valuesOf(field)
  return z
    .string()
    .meta(field === 'size' ? { examples: values } : { enum: values })
    .nullish()
    .describe(`${about} ${rows.join('; ')}. The first is the default.`)
}

/** The body of `POST /v2/router/images/generations`; unknown fields are kept. */
export const ImageRequest = z.looseObject({
  prompt: z.string().min(1).describe('Prompt for the images.'),
  model: ModelId.describe(
    `One of ${Object.keys(IMAGE_MODELS).join(', ')}, whose rules are held; any other image model takes what one of them does.`,
  ).meta({ examples: Object.keys(IMAGE_MODELS) }),
  n: z
    .int()
    .min(1)
    .max(10)
    .nullish()
    .describe('Number of images. openai/dall-e-3 supports only 1.')
    .meta({ default: 1 }),
  size: choice('size', 'Width and height in pixels.'),
  quality: choice('quality', 'How much detail.'),
  style: choice('style', 'How dramatic.'),
  background: choice('background', 'Background. `transparent` requires png or webp.'),
  moderation: choice('moderation', 'How strictly prompts are checked.'),
  output_format: choice('output_format', 'The file format.'),
  output_compression: z
    .int()
    .min(0)
    .max(100)
    .nullish()
    .describe(
      'Quality that is kept, in percent; less than 100 needs `output_format` jpeg or webp, which openai/gpt-image-1 takes.',
    ),
  response_format: choice('response_format', 'The picture itself or its address.'),
  stream: z
    .boolean()
    .nullish()
    .describe('Whether to stream the image as events, with partial images first. Only openai/gpt-image-1.'),
  partial_images: z.int().min(0).max(3).nullish().describe('Number of partial images in a stream. Default: none.'),
  user: z.string().nullish().describe('The end user.'),
  metadata: z.looseObject({}).nullish().describe('Metadata, stored in the trace.'),
  identity: Identity.nullish(),
  thread: Thread.nullish(),
  ...Routing,
  svc: ServiceOptions.nullish(),
})
export type ImageRequest = z.infer<typeof ImageRequest>

const integer = z.int().min(0)

/** Token counts of a call. */
export const ImageUsage = z.object({
  input_tokens: integer.describe('Tokens of the request.'),
  input_tokens_details: describedObject('Breakdown of the input tokens.', {
    image_tokens: integer.describe('Image tokens.'),
    text_tokens: integer.describe('Text tokens.'),
  }),
  output_tokens: integer.describe('Output tokens.'),
  total_tokens: integer,
})
export type ImageUsage = z.infer<typeof ImageUsage>

const settings = {
  background: z.string().describe('Background of the images.'),
  output_format: z.string().describe('Image format: `png`, `jpeg`, or `webp`.'),
  quality: z.string().describe('Quality of the image.'),
  size: z.string().describe('Width and height in pixels, such as `1024x1024`.'),
}

/** The response: each image has either `url` or `b64_json`. */
export const ImageResult = z.object({
  created: z.int().describe('Creation time, in seconds since the Unix epoch.'),
  data: describedList('The `n` images.', {
    revised_prompt: z.string().optional().describe('Only openai/dall-e-3.'),
    b64_json: z.string().describe('The image in base64.').optional(),
    url: z.string().optional().describe('URL of the image. Available for one hour, without a token.'),
  }),
  ...z.object(settings).partial().describe('Properties of the images. Only openai/gpt-image-1.').shape,
  usage: ImageUsage.optional().describe('Only openai/gpt-image-1.'),
})
export type ImageResult = z.infer<typeof ImageResult>

const picture = {
  b64_json: z.string().describe('The image in base64.'),
  created_at: z.int().describe('Creation time, in seconds since the Unix epoch.'),
  ...settings,
  background: settings.background.describe('Background of the image.'),
}
/** The data of one event of a streamed image. */
export const ImageEvent = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('image_generation.partial_image'),
    partial_image_index: z.int().min(0).max(2).describe('Index of the partial image, from 0.'),
    ...picture,
  }),
  z.object({ type: z.literal('image_generation.completed'), ...picture, usage: ImageUsage }),
])
export type ImageEvent = z.infer<typeof ImageEvent>

const ProvidedImage = z.base64().refine((text) => imageFormatOf(text) !== undefined, {
  error: 'must be a PNG, JPEG or WebP file as base64',
})

/** The `reply` of an image fixture. What it omits is generated and counted. */
export const ImageScript = z
  .strictObject({
    prompt: z
      .string()
      .min(1)
      .optional()
      .describe('Generates the images from this prompt instead of the prompt of the call.'),
    images: z
      .array(z.union([ProvidedImage, FileName]))
      .min(1)
      .optional()
      .describe(
        'PNG, JPEG or WebP files as base64, or by name beside the fixture, given as they are; when more are asked for they begin again.',
      ),
    revised_prompt: z.string().min(1).optional().describe('Returned by models that support it: openai/dall-e-3.'),
    usage: z
      .strictObject({
        input_tokens: integer.optional().describe('Tokens of the request.'),
        output_tokens: integer.optional().describe('Tokens of the images.'),
      })
      .optional()
      .describe('Token counts instead of the counted ones, for models that show them: openai/gpt-image-1.'),
    timing: Timing.optional().describe('How fast the reply comes.'),
  })
  .refine((script) => script.prompt === undefined || script.images === undefined, {
    error: "must have at most one of 'prompt' and 'images'",
  })
export type ImageScript = z.infer<typeof ImageScript>

/** Kind under which a session stores the images that its responses refer to. */
export const FILE_KIND = 'file'
/** Lifetime of an image URL, in milliseconds. */
export const FILE_LIFE = 3_600_000
/** A stored image: its source, which is small for a generated one, and its expiry (ms since the epoch). */
export interface StoredFile {
  source: ImageSource
  expires: number
}
const side = z.int().min(1).max(4_096)
const format = z.enum(['png', 'jpeg', 'webp'])
const Stored = z.looseObject({
  source: z.union([
    z.looseObject({ base64: z.string(), format }),
    z.looseObject({
      ...{ width: side, height: side, format, transparent: z.boolean(), key: z.string() },
      compression: z.number().min(0).max(100).optional(),
      coarseness: z.int().min(1).optional(),
    }),
  ]),
  expires: z.number(),
})
/** Whether a value is a stored image. */
export const isStoredFile = (value: unknown): value is StoredFile => Stored.safeParse(value).success
