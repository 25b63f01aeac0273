// The beginning of a stream, held back until it is known that the attempt has an answer.
import { type Deadline, unlessAborted } from '../../lib/deadline.ts'
import { type EventBatch, type EventStream, isComplete, type StreamEvent } from '../../lib/sse.ts'

/** What a step of an attempt gives, unless the time is up first: not everything listens to the signal. */
export const inTime = <T>(step: T | Promise<T>, deadline: Deadline | undefined): T | Promise<T> =>
  deadline ? unlessAborted(deadline.signal, Promise.resolve(step)) : step

/** Whether a stream may begin with an event. */
type Begins = (event: StreamEvent) => boolean

/** The same stream, read ahead up to the first event that it may begin with; whatever fails before it is thrown. */
export async function prefetch(
  stream: EventStream,
  deadline: Deadline | undefined,
  begins: Begins,
): Promise<EventStream> {
  if (isComplete(stream)) {
    deadline?.stop()
    return stream
  }
  const source = stream[Symbol.asyncIterator]()
  const ahead: StreamEvent[] = []
  for (;;) {
    const next = await inTime(source.next(), deadline)
    if (next.done) break
    ahead.push(...next.value)
    if (!next.value.some(begins)) continue
    deadline?.hold()
    return followed(ahead, source, deadline)
  }
  deadline?.stop()
  return [ahead]
}

/** What was read ahead, then what follows. A client that reads slowly is not silence of the provider. */
async function* followed(
  ahead: EventBatch,
  source: AsyncIterator<EventBatch>,
  deadline: Deadline | undefined,
): AsyncGenerator<EventBatch> {
  try {
    yield ahead
    for (;;) {
      deadline?.restart()
      const next = await inTime(source.next(), deadline)
      if (next.done) return
      deadline?.hold()
      yield next.value
    }
  } finally {
    deadline?.stop()
    const left = source.return?.()
    // A source that did not listen to the signal does not listen to this either.
    if (!deadline?.signal.aborted) await left
  }
}
