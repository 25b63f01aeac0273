// POST /v2/router/images/edits and /variations: pictures that are drawn of a prompt and of the bytes of another picture.
import { countCached } from '../answers/text-answer.ts'
import { ApiError } from '../contract/core/error.ts'
import type { Operation } from '../contract/core/operation.ts'
import { ImageEditForm, ImageVariationForm } from '../contract/router/image-edits.ts'
import type { ImageRequest, ImageScript } from '../contract/router/images.ts'
import { sha256 } from '../lib/ids.ts'
import { imageFormatOf } from '../lib/media/image-format.ts'
import { images } from './images.ts'

/** A picture of a request that has been looked at. */
interface GivenPicture {
  name: string
  sha256: string
  /** The file itself, for a provider that the call is forwarded to. */
  source: File
}
/** A request whose picture has been looked at. */
type DrawnRequest = ImageRequest & { picture: string }
type Request<Form> = Form | DrawnRequest

const isFile = (value: unknown): value is File => value instanceof File

async function lookedAt(file: File, field: string): Promise<GivenPicture> {
  const bytes = await file.bytes()
  if (imageFormatOf(bytes.toBase64()) === undefined) {
    const message = `'${field}' must be a PNG, JPEG or WebP file, got ${JSON.stringify(file.name)} of ${bytes.length} bytes`
    throw new ApiError(400, 'invalid_file', message, { param: field })
  }
  return { name: file.name, sha256: sha256(bytes), source: file }
}

/** The request with its pictures looked at, and what they are drawn by: a name made of all their bytes. */
async function resolved(form: object, prompt: string): Promise<DrawnRequest> {
  const pictures = await Promise.all(
    Object.entries(form).flatMap(([field, value]) =>
      isFile(value) ? [lookedAt(value, field).then((one) => [field, one] as const)] : [],
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

/** An operation that draws by a form. */
function drawing<Form extends ImageEditForm | ImageVariationForm>(
  about: Pick<
    Operation<Request<Form>, ImageScript>,
    'name' | 'path' | 'summary' | 'description' | 'examples' | 'request'
  >,
  promptOf: (form: Request<Form>) => string,
): Operation<Request<Form>, ImageScript> {
  const { answerName, tag, response, script, wrongWith, scriptOf } = images
  return {
    ...{ answerName, tag, response, script, wrongWith, scriptOf, ...about },
    extension: true,
    body: 'multipart',
    model: ({ model }) => model,
    streams: () => false,
    prompt: (form) => ({ system: '', user: promptOf(form), turn: 1, tools: [], toolResult: false }),
    promptTokens: (form, count = countCached) => count(promptOf(form)),
    attachments: (form) => [{ kind: 'image', name: nameIn(form) }],
    resolve: (form) => resolved(form, promptOf(form)),
    generate: () => ({}),
    compose(request, given, answerContext) {
      const { picture, prompt } = request as DrawnRequest
      const own = given.images || given.prompt !== undefined
      return images.compose(
        request as DrawnRequest,
        own ? given : { ...given, prompt: `${prompt} (${picture})`, revised_prompt: given.revised_prompt ?? prompt },
        answerContext,
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
