// Streams of bytes that are made as they are read.

/** A stream of what a generator yields; its error errors the stream, a cancelled stream ends it. Nothing is read ahead. */
export function streamOf(source: AsyncGenerator<Uint8Array>): ReadableStream<Uint8Array> {
  return new ReadableStream(
    {
      async pull(controller) {
        try {
          const { done, value } = await source.next()
          if (done) controller.close()
          else controller.enqueue(value)
        } catch (error) {
          controller.error(error)
        }
      },
      async cancel() {
        await source.return(undefined)
      },
    },
    { highWaterMark: 0 },
  )
}
