// POST /v2/router/images/generations (SPEC.md, "Generate images"; WIRE.md, section 2).
import { countCached } from '../backends/fixture/text-answer.ts'
import { ApiError } from '../contract/error.ts'
import {
  choicesOf,
  FILE_KIND,
  FILE_LIFE,
  IMAGE_MODELS,
  ImageRequest,
  ImageResult,
  type ImageRules,
  ImageScript,
  type ImageUsage,
  imageProblems,
  type KeptFile,
} from '../contract/images.ts'
import type { Composed, Making, Operation } from '../contract/operation.ts'
import { quote } from '../contract/validation.ts'
import { fingerprint, unguessable } from '../lib/ids.ts'
import type { ImageFormat, ImageSpec } from '../lib/image.ts'
import { cachedImage } from '../lib/image-cache.ts'
import { providerOf } from '../providers/catalogue.ts'

export const images: Operation<ImageRequest, ImageScript> = {
  name: 'images.generations',
  path: '/v2/router/images/generations',
  tag: 'Router',
  summary: 'Generate images',
  description:
    'Draws pictures, the same ones for the same call: real files of the size and format asked, given as base64 or as an address of this server.',
  examples: {
    'dall-e-2': { model: 'openai/dall-e-2', prompt: 'A lighthouse at dusk', n: 2, size: '256x256' },
    'dall-e-3': {
      model: 'openai/dall-e-3',
      prompt: 'A lighthouse at dusk',
      size: '1792x1024',
      quality: 'hd',
      style: 'natural',
    },
    'gpt-image-1': {
      model: 'openai/gpt-image-1',
      prompt: 'A lighthouse at dusk',
      size: '1024x1024',
      quality: 'low',
      background: 'transparent',
      output_format: 'png',
    },
  },
  body: 'json',
  request: ImageRequest,
  response: ImageResult,
  script: ImageScript,
  model: (request) => request.model,
  streams: () => false,
  prompt: ({ prompt }) => ({ system: '', user: prompt, turn: 1, tools: [], toolResult: false }),
  promptTokens: ({ prompt }) => countCached(prompt),
  resolve(request) {
    providerOf(request.model)
    rulesOf(request, request.model)
    return request
  },
  synthesize: () => ({}),
  compose,
  assemble: () => ({}),
}

/** The rules of the model that is to draw; 400 when it draws nothing, or not what the request asks for. */
function rulesOf(request: ImageRequest, model: string): ImageRules {
  const rules = IMAGE_MODELS[model]
  if (!rules) {
    const message = `'model' must be one of ${Object.keys(IMAGE_MODELS).join(', ')} for images, got ${quote(model)}`
    throw new ApiError(400, 'invalid_value', message, { param: 'model' })
  }
  const [problem] = imageProblems(request, model, rules)
  if (!problem) return rules
  const field = String(problem.path[0])
  const message = `'${field}' ${problem.message}, got ${quote(request[field])}`
  throw new ApiError(400, 'invalid_value', message, { param: field })
}

async function compose(
  request: ImageRequest,
  script: ImageScript,
  making: Making & { model: string },
): Promise<Composed> {
  // A fallback may be drawing, which does not take everything that the first model does.
  const rules = rulesOf(request, making.model)
  const chosen = choicesOf(request, rules)
  const n = request.n ?? 1
  const prompt = script.prompt ?? request.prompt
  const specs = Array.from({ length: n }, (_, index): ImageSpec => {
    const { size = '', quality, style, background } = chosen
    const [width = 0, height = 0] = size.split('x').map(Number)
    return {
      width,
      height,
      format: (chosen.output_format ?? 'png') as ImageFormat,
      ...(request.output_compression != null && { compression: request.output_compression }),
      transparent: background === 'transparent',
      key: fingerprint(JSON.stringify([prompt, making.model, size, index, quality, style, background])),
    }
  })
  const pictures = chosen.response_format === 'url' ? await addresses(specs, making) : await encoded(specs)
  const revised = rules.revises && { revised_prompt: script.revised_prompt ?? revise(prompt, chosen.style) }
  const usage = usageOf(request, rules)
  return {
    usage: usage ?? { images: n, size: chosen.size, quality: chosen.quality },
    tokens: usage?.output_tokens ?? 0,
    body: (): ImageResult => ({
      created: Math.floor(making.now / 1000),
      data: pictures.map((picture) => ({ ...revised, ...picture })),
      ...(usage && { usage }),
    }),
    events: () => [],
  }
}

/** Keeps what the pictures are drawn from, so that they are drawn when somebody fetches them. */
function addresses(specs: readonly ImageSpec[], { id, now, secret, kept, publicUrl }: Making) {
  const expires = now + FILE_LIFE
  return Promise.all(
    specs.map(async (picture, index) => {
      const name = `${unguessable(secret, `${id}:${index}`)}.${picture.format}`
      await kept.put({ kind: FILE_KIND, id: name, value: { picture, expires } satisfies KeptFile, expires })
      return { url: publicUrl(`/files/${name}`) }
    }),
  )
}

const encoded = (specs: readonly ImageSpec[]) =>
  Promise.all(specs.map(async (spec) => ({ b64_json: Buffer.from(await cachedImage(spec)).toString('base64') })))

/** The prompt as a model that writes it anew would have it. */
const revise = (prompt: string, style: string | undefined) =>
  `A ${style === 'natural' ? 'natural, calm' : 'vivid, dramatic'} picture of the following: ${prompt}`

function usageOf(request: ImageRequest, rules: ImageRules): ImageUsage | undefined {
  if (!rules.tokens) return undefined
  const { quality = '', size = '' } = choicesOf(request, rules)
  const text = countCached(request.prompt)
  const output = (rules.tokens[quality]?.[size] ?? 0) * (request.n ?? 1)
  return {
    input_tokens: text,
    input_tokens_details: { image_tokens: 0, text_tokens: text },
    output_tokens: output,
    total_tokens: text + output,
  }
}
