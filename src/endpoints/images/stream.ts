// Streams images as events, partial ones first, and assembles a response from them.
import type { AnswerAssembly } from '../../contract/core/assembly.ts'
import type { RenderedAnswer, StreamRules } from '../../contract/core/operation.ts'
import type { ImageEvent, ImageResult, ImageUsage } from '../../contract/router/images.ts'
import { dataEvent, type EventData, type StreamEvent } from '../../lib/sse.ts'
import { asObject, asText } from '../../lib/values.ts'

/** The rules for a stream of images. */
export const imageEvents: StreamRules = {
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
export function imageStream(result: ImageResult, partial: readonly string[]): StreamEvent[] {
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
export function imageAssembly(): AnswerAssembly {
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
export const replayImages = (_: object, stored: object): Pick<RenderedAnswer, 'body' | 'events'> => ({
  body: () => stored,
  events: () => imageStream(stored as ImageResult, []),
})
