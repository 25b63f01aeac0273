// Takes the usage out of a stream whose client did not ask for it. Everything else passes as the bytes that came.
import { type SseBlock, sseReader } from '../../lib/sse.ts'
import { asList, asObject, type JsonObject } from '../../lib/values.ts'
import { USAGE_HINT, usageIn } from './usage.ts'

const BLANK = new TextEncoder().encode('\n\n')
const HINT = Buffer.from(USAGE_HINT)

/**
 * Passes a stream of events on, less the extra chunk that only carries usage, which is given to `found`. Events are passed on
 * when they are complete, since only then is it known what they are.
 */
export function withoutUsage(found: (usage: JsonObject) => void): TransformStream<Uint8Array, Uint8Array> {
  const reader = sseReader()
  const encoder = new TextEncoder()
  const keep = ({ event }: SseBlock): boolean => {
    const data = event?.data.includes(USAGE_HINT) ? objectIn(event.data) : undefined
    const usage = usageIn(data)
    if (usage) found(usage)
    return !(usage && asList(data?.choices).length === 0)
  }
  const pass = (blocks: readonly SseBlock[]) =>
    encoder.encode(
      blocks
        .filter(keep)
        .map(({ text }) => text)
        .join(''),
    )
  return new TransformStream({
    transform(bytes, controller) {
      // Whole events without counts, which is nearly all there is, pass unread.
      if (
        !reader.pending &&
        endsWith(bytes, BLANK) &&
        !Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).includes(HINT)
      ) {
        return controller.enqueue(bytes)
      }
      const passed = pass(reader.read(bytes))
      if (passed.length > 0) controller.enqueue(passed)
    },
    flush(controller) {
      const passed = pass(reader.end())
      if (passed.length > 0) controller.enqueue(passed)
    },
  })
}

const endsWith = (bytes: Uint8Array, end: Uint8Array): boolean =>
  end.every((byte, index) => bytes[bytes.length - end.length + index] === byte)

function objectIn(text: string): JsonObject | undefined {
  try {
    return asObject(JSON.parse(text))
  } catch {
    return undefined
  }
}
