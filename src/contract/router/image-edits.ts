// Image edits and variations on the wire: the form of a request. The response is that of generated images.
import { z } from 'zod'
import { ImageRequest } from './images.ts'
import { ModelId, ServiceOptionsUncached } from './shared.ts'

const drawing = ImageRequest.omit({ stream: true, partial_images: true, cache: true, svc: true })
const picture = (about: string) => z.file().optional().describe(about)
const hasPicture = (form: Record<string, unknown>) => form.image !== undefined || form['image[]'] !== undefined
const NO_PICTURE = { error: 'is required: it must be a PNG, JPEG or WebP file', path: ['image'] }
const shared = {
  model: ModelId.default('openai/dall-e-2').meta({ examples: ['openai/gpt-image-1'] }),
  image: picture('The image: PNG, JPEG, or WebP.'),
  svc: ServiceOptionsUncached.nullish(),
}

/** The fields of `POST /v2/router/images/edits`; unknown fields are kept. */
export const ImageEditForm = drawing
  .extend({
    ...shared,
    'image[]': picture('One of several images, as OpenAI clients send them. The last one is used.'),
    mask: picture('Mask: transparent areas are edited.'),
    input_fidelity: z.string().nullish().describe('Input fidelity. Recorded, but without effect.'),
  })
  .refine(hasPicture, NO_PICTURE)
export type ImageEditForm = z.infer<typeof ImageEditForm>

/** The fields of `POST /v2/router/images/variations`; unknown fields are kept. */
export const ImageVariationForm = drawing.omit({ prompt: true }).extend(shared).refine(hasPicture, NO_PICTURE)
export type ImageVariationForm = z.infer<typeof ImageVariationForm>
