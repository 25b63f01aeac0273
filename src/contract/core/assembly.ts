// How the answer that came in a stream is put together again: event by event, since there may be very many.
import type { EventData } from '../../lib/sse.ts'

/** An answer as far as it has come. */
export interface AnswerAssembly {
  add(event: EventData): void
  /** The whole answer that a client has after these events; what is missing in a cut stream is missing here. */
  whole(): object
}

/** The whole answer after these events. */
export function assembled(assembly: AnswerAssembly, events: readonly EventData[]): object {
  for (const event of events) assembly.add(event)
  return assembly.whole()
}
