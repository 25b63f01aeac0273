// Takes the usage out of a stream whose client did not ask for it. Everything else passes as the bytes that came.
import { type SseBlock, sseReader } from '../../lib/sse.ts'
import { asList, asObject, type JsonObject } from '../../lib/values.ts'
import { USAGE_HINT, usageIn } from './usage.ts'

const BLANK = new TextEncoder().encode('\n\n')
const HINT = Buffer.from(USAGE_HINT)
const encoder = new TextEncoder()

/**
 * Passes a stream of events on, less the extra chunk that only carries usage, which is given to `found`. Events are passed on
 * when they are complete, since only then is it known what they are.
 */
export function withoutUsage(
  stream: ReadableStream<Uint8Array>,
  found: (usage: JsonObject) => void,
): ReadableStream<Uint8Array> {
  const source = stream.getReader()
  const parser = sseReader()
  const keep = ({ event }: SseBlock): boolean => {
    const data = event?.data.includes(USAGE_HINT) ? objectIn(event.data) : undefined
    const usage = usageIn(data)
    if (usage) found(usage)
    return !(usage && asList(data?.choices).length === 0)
  }
  const textOf = (blocks: readonly SseBlock[]) => {
    const kept = blocks.filter(keep).map(({ text }) => text)
    return encoder.encode(kept.join(''))
  }
  // Whole events without counts, which is nearly all there is, pass unread.
  const passed = (bytes: Uint8Array) =>
    !parser.pending && endsWith(bytes, BLANK) && !bufferOf(bytes).includes(HINT) ? bytes : textOf(parser.read(bytes))
  // A reader of our own: a TransformStream takes as long as all else that is done with a chunk here.
  return new ReadableStream({
    async pull(controller) {
      try {
        for (;;) {
          const { done, value } = await source.read()
          const bytes = done ? textOf(parser.end()) : passed(value)
          if (bytes.length > 0) controller.enqueue(bytes)
          if (done) return controller.close()
          if (bytes.length > 0) return
        }
      } catch (error) {
        await source.cancel(error).catch(() => {})
        throw error
      }
    },
    cancel: (reason) => source.cancel(reason),
  })
}

const bufferOf = ({ buffer, byteOffset, length }: Uint8Array) => Buffer.from(buffer, byteOffset, length)
const endsWith = (bytes: Uint8Array, end: Uint8Array): boolean =>
  end.every((byte, index) => bytes[bytes.length - end.length + index] === byte)

function objectIn(text: string): JsonObject | undefined {
  try {
    return asObject(JSON.parse(text))
  } catch {
    return undefined
  }
}
