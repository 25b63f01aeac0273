// What is kept of a stream that was sent: counts and times of its events, and the events where the answer does not say them.
import { NO_TIME, type StreamRecord } from '../contract/stream-record.ts'
import { frontCoded } from '../lib/front-coding.ts'
import { encodeEvent, type StreamEvent } from '../lib/sse.ts'
import { dataCharacters } from '../lib/written-events.ts'
import type { AnswerRecord, SentStream, TraceRecorder } from './recording.ts'

/** Numbers of times, two for each turn in which events went out. */
const MOST_TIMES = 4_000
/** Characters of events that are kept, without what is the same in the event before. */
const MOST_CHARACTERS = 64 * 1024
/** Events that are there at once, after which the clock is looked at all the same: they may be sent in several turns. */
export const EVENTS_OF_A_TURN = 64

/** Notes that the next event goes out now. */
export function noteTime({ events, times }: SentStream, now: number): void {
  if (times.length >= MOST_TIMES || times[times.length - 1] === now) return
  times.push(events.length, times.length + 2 < MOST_TIMES ? now : NO_TIME)
}

/** What was sent of the answer to a call; undefined for one that was no stream. */
export function streamRecord({ answer, call }: Pick<TraceRecorder, 'answer' | 'call'>): StreamRecord | undefined {
  if (answer?.content.kind !== 'events') return undefined
  const { content } = answer
  const { events, times } = content
  const record = { events: events.length, characters: dataCharacters(events), times }
  if (!call.retained || (call.operation.replay && isComposed(answer))) return record
  return { ...record, blocks: frontCoded(textsOf(content), MOST_CHARACTERS) }
}

/** Whether all events were made here of the answer, so that whoever wants to see them has them made again. */
const isComposed = ({ complete, answer: { attempt, from } }: AnswerRecord): boolean =>
  complete && (from.synthesized || from.fixture !== null) && attempt?.faults.length === 0

function* textsOf({ events, closing = [] }: SentStream): Iterable<string> {
  for (const event of events) yield textOf(event)
  for (const event of closing) yield textOf(event)
}

/** What cannot be written was not sent. */
function textOf(event: StreamEvent): string {
  try {
    return encodeEvent(event).slice(0, -2)
  } catch {
    return ''
  }
}
