// POST /v2/router/images/edits and /variations: images generated from a prompt and the bytes of an input image.
import { countCached } from '../answers/text-answer.ts'
import { ApiError } from '../contract/core/error.ts'
import type { Operation } from '../contract/core/operation.ts'
import { ImageEditForm, ImageVariationForm } from '../contract/router/image-edits.ts'
import type { ImageRequest, ImageScript } from '../contract/router/images.ts'
import { sha256 } from '../lib/ids.ts'
import { imageFormatOf } from '../lib/media/image-format.ts'
import { userPrompt, wholeOperation } from './common.ts'
import { images } from './images.ts'

/** A request with validated images. */
type DrawnRequest = ImageRequest & { picture: string }
type Request<Form> = Form | DrawnRequest

const isFile = (value: unknown): value is File => value instanceof File

/** A validated image: its name and hash, and the file itself for forwarded calls. */
async function readPicture(file: File, field: string): Promise<{ name: string; sha256: string; source: File }> {
  const bytes = await file.bytes()
  if (imageFormatOf(bytes.toBase64()) === undefined) {
    const message = `'${field}' must be a PNG, JPEG or WebP file, got ${JSON.stringify(file.name)} of ${bytes.length} bytes`
    throw new ApiError(400, 'invalid_file', message, { param: field })
  }
  return { name: file.name, sha256: sha256(bytes), source: file }
}

/** Validates the images of a request, and adds the hash of all their bytes, from which the result is drawn. */
async function resolvePictures(form: object, prompt: string): Promise<DrawnRequest> {
  const pictures = await Promise.all(
    Object.entries(form).flatMap(([field, value]) =>
      isFile(value) ? [readPicture(value, field).then((one) => [field, one] as const)] : [],
    ),
  )
  const picture = sha256(new TextEncoder().encode(pictures.map(([, one]) => one.sha256).join()))
  const request = { ...form, prompt, ...Object.fromEntries(pictures), picture } as unknown as DrawnRequest
  images.check?.(request)
  return request
}

const nameIn = (form: object) => {
  const { image, 'image[]': several } = form as Record<string, { name?: string } | undefined>
  return (image ?? several)?.name ?? ''
}

/** An operation that draws an image for a form. */
function drawing<Form extends ImageEditForm | ImageVariationForm>(
  about: Pick<
    Operation<Request<Form>, ImageScript>,
    'name' | 'path' | 'summary' | 'description' | 'examples' | 'request'
  >,
  promptOf: (form: Request<Form>) => string,
): Operation<Request<Form>, ImageScript> {
  const { answerName, response, script, wrongWith, scriptOf } = images
  return {
    ...wholeOperation,
    ...{ answerName, response, script, wrongWith, scriptOf, ...about },
    extension: true,
    body: 'multipart',
    prompt: (form) => userPrompt(promptOf(form)),
    promptTokens: (form, count = countCached) => count(promptOf(form)),
    attachments: (form) => [{ kind: 'image', name: nameIn(form) }],
    resolve: (form) => resolvePictures(form, promptOf(form)),
    compose(request, imageScript, attempt) {
      const { picture, prompt } = request as DrawnRequest
      const own = imageScript.images || imageScript.prompt !== undefined
      return images.compose(
        request as DrawnRequest,
        own
          ? imageScript
          : { ...imageScript, prompt: `${prompt} (${picture})`, revised_prompt: imageScript.revised_prompt ?? prompt },
        attempt,
      )
    },
  }
}

/** The operation "Edit an image", an extension. The same call produces the same images. */
export const imageEdits = drawing<ImageEditForm>(
  {
    name: 'images.edits',
    path: '/v2/router/images/edits',
    summary: 'Edit an image',
    description:
      'Generates images from a prompt and an input image. The same call produces the same images. The result does not resemble the input.',
    examples: {
      'dall-e-2': { model: 'openai/dall-e-2', prompt: 'The same at night', image: 'sea.png', size: '256x256' },
    },
    request: ImageEditForm as never,
  },
  (form) => String(form.prompt),
)

/** The operation "Create image variations", an extension. The same call produces the same images. */
export const imageVariations = drawing<ImageVariationForm>(
  {
    name: 'images.variations',
    path: '/v2/router/images/variations',
    summary: 'Create image variations',
    description: 'Generates images from an input image. The same call produces the same images.',
    examples: { 'dall-e-2': { model: 'openai/dall-e-2', image: 'sea.png', n: 2, size: '256x256' } },
    request: ImageVariationForm as never,
  },
  (form) => `A variation of ${nameIn(form)}`,
)
