// POST /v2/router/images/generations (the specification, "Generate images").
import { imageFile } from '../answers/image-files.ts'
import { countCached } from '../answers/text-answer.ts'
import type { AnswerAssembly } from '../contract/core/assembly.ts'
import { ApiError } from '../contract/core/error.ts'
import type {
  AnswerContext,
  AttemptContext,
  Operation,
  RenderedAnswer,
  StreamRules,
} from '../contract/core/operation.ts'
import { choicesOf, IMAGE_MODELS, imageProblems, imageRules, sidesOf } from '../contract/router/image-models.ts'
import {
  FILE_KIND,
  FILE_LIFE,
  ImageEvent,
  ImageRequest,
  ImageResult,
  ImageScript,
  type ImageUsage,
  type StoredFile,
} from '../contract/router/images.ts'
import { settingsOf } from '../gateway/settings.ts'
import { fingerprint, unguessable } from '../lib/ids.ts'
import type { ImageFormat } from '../lib/media/image.ts'
import { type ImageSource, imageFormatOf } from '../lib/media/image-format.ts'
import { dataEvent, type EventData, type StreamEvent } from '../lib/sse.ts'
import { asList, asObject, asText, objectsIn } from '../lib/values.ts'
import { modelOf } from '../providers/catalogue.ts'
import { quote } from '../schema/validation.ts'
import { streamedOperation, userPrompt } from './common.ts'

/** The rules for a stream of images. */
const imageEvents: StreamRules = {
  wrongWith: (data) => (typeof data.type === 'string' ? undefined : "it has no 'type'"),
  hasContent: (data) => typeof data.b64_json === 'string',
  complete: (events) =>
    events.some(({ data }) => asText(asObject(data)?.type)?.endsWith('.completed')) && events.some(hasPicture),
}

const hasPicture = ({ data }: EventData) => typeof asObject(data)?.b64_json === 'string'

const eventOf = (data: ImageEvent): StreamEvent => dataEvent(data, { event: data.type, tokens: 1 })
const NO_USAGE: ImageUsage = {
  input_tokens: 0,
  input_tokens_details: { image_tokens: 0, text_tokens: 0 },
  output_tokens: 0,
  total_tokens: 0,
}

/** The events of a whole response, after its partial images (base64). */
function imageStream(result: ImageResult, partial: readonly string[]): StreamEvent[] {
  const { created, data, usage = NO_USAGE, background = '', output_format = '', quality = '', size = '' } = result
  const about = { created_at: created, background, output_format, quality, size }
  return [
    ...partial.map((b64_json, index) =>
      eventOf({ type: 'image_generation.partial_image', partial_image_index: index, b64_json, ...about }),
    ),
    eventOf({ type: 'image_generation.completed', b64_json: data[0]?.b64_json ?? '', ...about, usage }),
  ]
}

/** Assembles a response: the last image that arrived. */
function imageAssembly(): AnswerAssembly {
  let last: EventData | undefined
  return {
    add(event) {
      if (hasPicture(event)) last = event
    },
    whole: () => (last ? resultOf(last) : {}),
  }
}

function resultOf({ data }: EventData): object {
  const { type: _, b64_json, created_at: created, partial_image_index: __, ...about } = asObject(data) ?? {}
  return { created, data: [{ b64_json }], ...about }
}

/** A stored response, whole or as one event. */
const replayImages = (_: object, stored: object): Pick<RenderedAnswer, 'body' | 'events'> => ({
  body: () => stored,
  events: () => imageStream(stored as ImageResult, []),
})

/** The operation "Generate images" of the specification. */
export const images: Operation<ImageRequest, ImageScript> = {
  ...streamedOperation,
  name: 'images.generations',
  path: '/v2/router/images/generations',
  answerName: 'list of pictures',
  summary: 'Generate images',
  description:
    'Generates images as valid files of the requested size and format, returned as base64 or as a URL of this server. The same call produces the same images.',
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
  request: ImageRequest,
  response: ImageResult,
  chunk: ImageEvent,
  script: ImageScript,
  prompt: ({ prompt }) => userPrompt(prompt),
  promptTokens: ({ prompt }, count = countCached) => count(prompt),
  check: (request) => checkModel(request, request.model),
  generate: () => ({}),
  compose,
  assembly: imageAssembly,
  events: imageEvents,
  replay: replayImages,
  wrongWith: picturesProblem,
  scriptOf: imageScriptOf,
}

/** Why a value is not a list of images; undefined for a valid one. */
function picturesProblem(value: unknown): string | undefined {
  const data = asList(asObject(value)?.data)
  if (data.length === 0) return "it has no 'data'"
  const wrong = data
    .map((item) => asObject(item) ?? {})
    .findIndex((picture) => !asText(picture.url) && !asText(picture.b64_json))
  return wrong < 0 ? undefined : `data[${wrong}] has neither 'url' nor 'b64_json'`
}

/** Throws 400 when a model generates no images, or does not support the request. */
function checkModel(request: ImageRequest, model: string): void {
  if (modelOf(model)?.output.includes('image') === false) {
    const message = `'model' must be a model that makes images, such as ${Object.keys(IMAGE_MODELS).join(', ')}, got ${quote(model)}`
    throw new ApiError(400, 'invalid_value', message, { param: 'model' })
  }
  const [problem] = imageProblems(request, model)
  if (!problem) return
  const field = String(problem.path[0])
  const message = `'${field}' ${problem.message}, got ${quote(request[field])}`
  throw new ApiError(400, 'invalid_value', message, { param: field })
}

async function compose(
  request: ImageRequest,
  script: ImageScript,
  { model, answerContext, signal }: AttemptContext,
): Promise<RenderedAnswer> {
  // A fallback model may not support every option of the primary one.
  checkModel(request, model)
  const chosen = choicesOf(request, model)
  const n = request.n ?? 1
  const prompt = script.prompt ?? request.prompt
  const sources = Array.from({ length: n }, (_, index) =>
    script.images ? fixtureSource(script.images, index) : drawnSource({ ...request, prompt }, model, index),
  )
  const pictures =
    chosen.response_format === 'url' && !request.stream
      ? await addresses(sources, answerContext, lifeOf(request))
      : await encoded(sources, signal)
  const revised = imageRules(model).revises && {
    revised_prompt: script.revised_prompt ?? revise(prompt, chosen.style),
  }
  const usage = usageOf(request, script, model)
  const result = (): ImageResult => ({
    created: Math.floor(answerContext.now / 1000),
    data: pictures.map((picture) => ({ ...revised, ...picture })),
    ...settingsEcho(chosen),
    ...(usage && { usage }),
  })
  const partial = request.stream ? await encoded(unfinished(sources[0], request.partial_images ?? 0), signal) : []
  return {
    usage: usage ?? { images: n, size: chosen.size, quality: chosen.quality },
    tokens: usage?.output_tokens ?? 0,
    body: result,
    events: () =>
      imageStream(
        result(),
        partial.map(({ b64_json }) => b64_json),
      ),
  }
}

/** The settings that models with a choice of formats repeat in the response. */
const settingsEcho = ({ background, output_format, quality, size }: ReturnType<typeof choicesOf>) =>
  output_format === undefined ? {} : { background, output_format, quality, size }

/** Square size of the coarsest partial image; it halves with each further one. */
const COARSEST = 64
/** The partial images of a stream, from coarse to fine. An image of a fixture is complete at once. */
const unfinished = (source: ImageSource | undefined, count: number): ImageSource[] =>
  source === undefined
    ? []
    : Array.from({ length: count }, (_, index) =>
        'base64' in source ? source : { ...source, coarseness: COARSEST / 2 ** index },
      )

function fixtureSource(images: NonNullable<ImageScript['images']>, index: number): ImageSource {
  // Files were read with the fixture.
  const base64 = String(images[index % images.length] ?? '')
  return { base64, format: imageFormatOf(base64) ?? 'png' }
}

function drawnSource(request: ImageRequest, model: string, index: number): ImageSource {
  const { size = '', quality, style, background, output_format: format = 'png' } = choicesOf(request, model)
  const [width, height] = sidesOf(size)
  return {
    width,
    height,
    format: format as ImageFormat,
    ...(request.output_compression != null && { compression: request.output_compression }),
    transparent: background === 'transparent',
    key: fingerprint(JSON.stringify([request.prompt, model, size, index, quality, style, background])),
  }
}

/** Stores the sources of the images, which are drawn when their URL is fetched. */
function addresses(
  sources: readonly ImageSource[],
  { id, now, secret, keyValues: store, publicUrl }: AnswerContext,
  life: number,
) {
  const expires = now + life
  return Promise.all(
    sources.map(async (source, index) => {
      const name = `${unguessable(secret, `${id}:${index}`)}.${source.format}`
      await store.put({ kind: FILE_KIND, id: name, value: { source, expires } satisfies StoredFile, expires })
      return { url: publicUrl(`/files/${name}`) }
    }),
  )
}

/** The parts of the operation that `settingsOf` needs. */
const ROUTED = { name: 'images.generations', request: ImageRequest }

/** A cached response repeats the URL until it expires, so the file lives longer. */
const lifeOf = (request: ImageRequest): number => FILE_LIFE + (settingsOf(ROUTED, request).cacheTtl ?? 0) * 1_000

const encoded = (sources: readonly ImageSource[], signal: AbortSignal) =>
  Promise.all(
    sources.map(async (source) => ({ b64_json: Buffer.from(await imageFile(source, signal)).toString('base64') })),
  )

/** A prompt as rewritten by a model that revises prompts. */
const revise = (prompt: string, style: string | undefined) =>
  `A ${style === 'natural' ? 'natural, calm' : 'vivid, dramatic'} picture of the following: ${prompt}`

function usageOf(request: ImageRequest, script: ImageScript, model: string): ImageUsage | undefined {
  const { tokens } = imageRules(model)
  if (!tokens) return undefined
  const { quality = '', size = '' } = choicesOf(request, model)
  const input = script.usage?.input_tokens ?? countCached(request.prompt)
  const output = script.usage?.output_tokens ?? (tokens[quality]?.[size] ?? 0) * (request.n ?? 1)
  return {
    input_tokens: input,
    input_tokens_details: { image_tokens: 0, text_tokens: input },
    output_tokens: output,
    total_tokens: input + output,
  }
}

/** The script that reproduces a response: its files, if it contains them. An image behind a URL is drawn again. */
function imageScriptOf(answer: unknown): ImageScript | undefined {
  if (picturesProblem(answer) !== undefined) return undefined
  const { data, usage } = asObject(answer) ?? {}
  const pictures = objectsIn(data)
  const files = ImageScript.safeParse({ images: pictures.map(({ b64_json: file }) => file) }).data
  const revised = pictures.map(({ revised_prompt: prompt }) => asText(prompt)).find((prompt) => prompt)
  const { input_tokens, output_tokens } = asObject(usage) ?? {}
  const counted = usage ? ImageScript.safeParse({ usage: { input_tokens, output_tokens } }).data : undefined
  return { ...files, ...(revised && { revised_prompt: revised }), ...counted }
}
