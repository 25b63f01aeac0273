// The chunks of a body that arrives over time, one by one.

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

async function* onePiece(bytes: Uint8Array): AsyncGenerator<Uint8Array, undefined> {
  yield bytes
  return undefined
}
