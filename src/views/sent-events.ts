// A streamed answer as it was sent, event by event: from what was kept of it, or made again from the answer.
import type { Operation } from '../contract/operation.ts'
import type { SentEvent, SentEvents } from '../contract/sent-events.ts'
import { NO_TIME, type StreamRecord } from '../contract/stream-record.ts'
import type { StoredTrace } from '../contract/trace.ts'
import { frontDecoded } from '../lib/front-coding.ts'
import { DONE_EVENT, encodeEvent, type StreamEvent } from '../lib/sse.ts'
import { dataCharacters, eventList } from '../lib/written-events.ts'

/** Events and characters that are shown: beyond that nobody reads them. */
const [MOST_EVENTS, MOST_CHARACTERS] = [5_000, 1_000_000]

/** A call whose stream is looked at. */
export interface StreamedCall {
  trace: StoredTrace
  stream: StreamRecord | undefined
  operation: Operation | undefined
}

/** Its events; none for a call that was not streamed. */
export function sentEvents({ trace, stream, operation }: StreamedCall): SentEvents {
  if (!stream) return { object: 'list', source: 'none', count: 0, data: [] }
  const kept = stream.blocks && frontDecoded(stream.blocks)
  const texts = kept ?? madeAgain(trace, stream, operation)
  const source = kept ? 'kept' : texts ? 'answer' : 'none'
  const times = timesOf(stream)
  // What was sent behind them has no time of its own: the end mark goes out when all is stored.
  const timed = (texts ?? []).map((text, index): SentEvent => ({ at_ms: times[index] ?? null, text }))
  const marked = timed.length >= stream.events && trace.outcome === 'answered'
  const data = marked ? [...timed, { at_ms: null, text: textOf(DONE_EVENT) }] : timed
  return { object: 'list', source, count: stream.events, data: shown(data) }
}

const textOf = (event: StreamEvent) => encodeEvent(event).slice(0, -2)

/** The events as the program makes them of the answer; undefined when those were others. */
function madeAgain(trace: StoredTrace, stream: StreamRecord, operation: Operation | undefined): string[] | undefined {
  const { answer, request, rendered, id, started_at } = trace
  if (typeof answer !== 'object' || answer === null || !operation?.replay) return undefined
  try {
    const context = { id, now: Date.parse(started_at), ...NOTHING_BESIDE }
    const events = operation.replay((rendered ?? request) as object, answer, context).events()
    const same = events.length === stream.events && dataCharacters(events) === stream.characters
    return same ? eventList(events).map(textOf) : undefined
  } catch {
    // An answer of an older version, or of a provider with ways of its own.
    return undefined
  }
}

/** An answer that is told again needs nothing of its session. */
const NOTHING_BESIDE = {
  secret: '',
  workspace: () => '',
  publicUrl: (path: string) => path,
  keyValues: { get: () => undefined, put: async () => {}, delete: async () => {} } as never,
}

/** The time of each event, where it was kept. */
function timesOf({ events, times }: StreamRecord): (number | null)[] {
  const found: (number | null)[] = []
  for (let at = 0; at < times.length; at += 2) {
    const [from = 0, time = NO_TIME] = times.slice(at, at + 2)
    const to = times[at + 2] ?? events
    for (let index = from; index < to && index < MOST_EVENTS; index++) found[index] = time === NO_TIME ? null : time
  }
  return found
}

function shown(data: readonly SentEvent[]): SentEvent[] {
  let left = MOST_CHARACTERS
  return data.slice(0, MOST_EVENTS).filter(({ text }) => {
    left -= text.length
    return left >= 0
  })
}
