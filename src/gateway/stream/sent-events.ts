// Sends the events of a compatible API to a client and records them; the call ends before the last one.
import type { ApiError } from '../../contract/core/error.ts'
import type { EventsBody, Reply } from '../../contract/core/reply.ts'
import type { Wire } from '../../contract/core/wire.ts'
import {
  DONE_EVENT,
  type EventBatch,
  type EventStream,
  eventOfType,
  isComplete,
  type StreamEvent,
} from '../../lib/sse.ts'
import { asObject } from '../../lib/values.ts'
import type { TraceRecorder } from '../record/recorder.ts'
import type { CallEnd } from '../types.ts'
import { SentBody } from './sent-body.ts'

/** What the events are sent with. */
export interface SentStreamCall {
  wire: Wire
  recording: TraceRecorder
  end: CallEnd
}

/** The reply with recorded events. A list is sent after its call ends; any other stream ends its call. */
export function noted(reply: Reply & { body: EventsBody }, call: SentStreamCall): Reply {
  const { events } = reply.body
  const sent = isComplete(events) ? notedAtOnce(events, call) : sentEvents(events, reply.headers, call)
  return { ...reply, body: { ...reply.body, events: sent, marked: true } }
}

function notedAtOnce(stream: readonly EventBatch[], { recording }: SentStreamCall): EventStream {
  const body = new SentBody()
  const now = recording.elapsed()
  for (const batch of stream) body.addEvents(batch, now)
  recording.sent = { body }
  return stream
}

async function* sentEvents(
  stream: AsyncIterable<EventBatch>,
  headers: Record<string, string>,
  call: SentStreamCall,
): AsyncGenerator<EventBatch> {
  const { wire, recording, end } = call
  const body = new SentBody()
  let isEnded = false
  const endCall = (): Promise<ApiError | undefined> => {
    isEnded = true
    recording.sent = { body }
    return end.end({ status: 200, headers })
  }
  /** The last event, unless another one follows. */
  let last: EventBatch = NO_EVENTS
  try {
    for await (const batch of stream) {
      const end = batch.at(-1)
      if (!end) continue
      body.addEvents(batch, recording.elapsed())
      if (last.length > 0) yield last
      const others = mayBeLast(end, call) ? batch.slice(0, -1) : batch
      last = others === batch ? NO_EVENTS : [end]
      if (others.length > 0) yield others
    }
    const problem = await endCall()
    yield problem ? [eventOfType(wire.error(problem, recording.id))] : last
  } finally {
    if (!isEnded) await endCall()
  }
}

const NO_EVENTS: EventBatch = []

/** Whether an event may be the last of a stream: the end mark, or the last event of an API without one. */
function mayBeLast({ text, data }: StreamEvent, { wire, recording }: SentStreamCall): boolean {
  if (text === DONE_EVENT.text) return true
  const value = asObject(data) ?? {}
  const rules = wire.events
  return (rules ? rules.ends?.(value) : recording.call.operation.events?.last?.(value)) ?? false
}
