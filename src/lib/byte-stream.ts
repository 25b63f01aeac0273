// The chunks of a body that arrives over time, one by one.
import { nextTurn } from './bare-socket.ts'
import { isLarge, sliceEnd } from './slices.ts'

/** Iterates over a body. A stream of the runtime is released at once, even while its next chunk is awaited. */
export function byteChunks(bytes: Uint8Array | AsyncIterable<Uint8Array>): AsyncIterator<Uint8Array, undefined> {
  if (bytes instanceof Uint8Array) return onePiece(bytes)
  if (!(bytes instanceof ReadableStream)) return bytes[Symbol.asyncIterator]()
  const reader: ReadableStreamDefaultReader<Uint8Array> = bytes.getReader()
  return {
    next: () => reader.read() as Promise<IteratorResult<Uint8Array, undefined>>,
    async return() {
      await reader.cancel()
      return { done: true, value: undefined }
    },
  }
}

/** The pieces of a source as a stream, which reads each on demand. Canceling it ends the source. */
export const streamOf = (source: AsyncIterator<Uint8Array, undefined>): ReadableStream<Uint8Array> =>
  new ReadableStream(
    {
      async pull(controller) {
        const { done, value } = await source.next()
        if (done) controller.close()
        else controller.enqueue(value)
      },
      cancel: async () => void (await source.return?.()),
    },
    { highWaterMark: 0 },
  )

async function* onePiece(bytes: Uint8Array): AsyncGenerator<Uint8Array, undefined> {
  yield bytes
  return undefined
}

/** The text of a body (UTF-8). A large one is decoded piece by piece, and other calls are answered in between. */
export async function textOfBytes(bytes: Uint8Array | AsyncIterable<Uint8Array>): Promise<string> {
  if (bytes instanceof Uint8Array) return utf8.decode(bytes)
  const body = byteChunks(bytes)
  const pieces: Uint8Array[] = []
  let length = 0
  for (let step = await body.next(); !step.done; step = await body.next()) {
    pieces.push(step.value)
    length += step.value.byteLength
    if (isLarge({ length })) return largeText(pieces, body)
  }
  const [first = NO_BYTES] = pieces
  return utf8.decode(pieces.length > 1 ? Buffer.concat(pieces) : first)
}
const utf8 = new TextDecoder()
const NO_BYTES = new Uint8Array()

async function largeText(first: readonly Uint8Array[], body: AsyncIterator<Uint8Array, undefined>): Promise<string> {
  const decoder = new TextDecoder()
  const parts = first.map((piece) => decoder.decode(piece, { stream: true }))
  let isOver = sliceEnd()
  for (let step = await body.next(); !step.done; step = await body.next()) {
    parts.push(decoder.decode(step.value, { stream: true }))
    if (!isOver()) continue
    await nextTurn()
    isOver = sliceEnd()
  }
  parts.push(decoder.decode())
  await nextTurn()
  return parts.join('')
}
