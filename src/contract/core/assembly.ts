// Assembles the response of a stream event by event, since there may be many events.
import type { EventData } from '../../lib/sse.ts'

/** A response in progress. */
export interface AnswerAssembly {
  add(event: EventData): void
  /** The response that a client has after these events. What is missing in a truncated stream is missing here. */
  whole(): object
}

/** The response after these events. */
export function assembled(assembly: AnswerAssembly, events: readonly EventData[]): object {
  for (const event of events) assembly.add(event)
  return assembly.whole()
}
