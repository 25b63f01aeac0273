// Holds back the beginning of a stream until it is known that the attempt succeeds.
import { type Deadline, unlessAborted } from '../../lib/deadline.ts'
import type { EventBatch, EventStream, StreamEvent } from '../../lib/sse.ts'

/** The result of a step, unless the deadline passes first. Needed because not every step observes the signal. */
export const inTime = <T>(step: T | Promise<T>, deadline: Deadline | undefined): T | Promise<T> =>
  deadline ? unlessAborted(deadline.signal, Promise.resolve(step)) : step

/** Whether a stream may begin with an event. */
type Begins = (event: StreamEvent) => boolean

/** The same stream, read up to the first event that it may begin with; throws any failure before that event. */
export async function prefetch(
  stream: Exclude<EventStream, readonly EventBatch[]>,
  deadline: Deadline | undefined,
  begins: Begins,
): Promise<EventStream> {
  const source = stream[Symbol.asyncIterator]()
  const buffered: StreamEvent[] = []
  for (;;) {
    const next = await inTime(source.next(), deadline)
    if (next.done) break
    buffered.push(...next.value)
    if (!next.value.some(begins)) continue
    deadline?.hold()
    return withBuffered(buffered, source, deadline)
  }
  deadline?.stop()
  return [buffered]
}

/** The buffered events, then the rest. A slow client does not count as a silent provider. */
async function* withBuffered(
  buffered: EventBatch,
  source: AsyncIterator<EventBatch>,
  deadline: Deadline | undefined,
): AsyncGenerator<EventBatch> {
  try {
    yield buffered
    for (;;) {
      deadline?.restart()
      const next = await inTime(source.next(), deadline)
      if (next.done) return
      deadline?.hold()
      yield next.value
    }
  } finally {
    deadline?.stop()
    const returned = source.return?.()
    // A source that ignored the signal ignores this too.
    if (!deadline?.signal.aborted) await returned
  }
}
