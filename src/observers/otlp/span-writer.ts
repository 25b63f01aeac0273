// Writes the spans of calls that have ended: some together, when their answers have gone, and never for more than a small part
// of the time. What comes faster than that waits, and what finds no room any more is dropped, whole calls at a time.
import type { CallMaterial, TraceSaved } from '../../contract/observation.ts'
import { realClock } from '../../lib/clock.ts'
import { monotonicMs } from '../../lib/monotonic.ts'
import { answerFacts, parameterAttributes } from './answer-facts.ts'
import { contentOf } from './content.ts'
import type { EndedCall } from './ended-call.ts'
import type { SpanExporter } from './export.ts'
import { spansOf } from './spans.ts'
import type { TracePosition } from './trace-context.ts'

/** A call under way; times are those of observations. */
export interface OpenCall {
  position: TracePosition
  at: number
  attemptEnds: number[]
  url: string | undefined
}
/** A call that has ended. */
export interface PendingCall {
  open: OpenCall
  saved: TraceSaved
  call: CallMaterial
}

/** What the clock of the machine says when that of observations is at 0. */
export const wallOffset = (): number => realClock.now() - monotonicMs()

/** How long calls wait to be written with others. */
const TOGETHER_MS = 20
/** The share of the time in which spans are written; sending them takes a few times as much. */
const SHARE = 0.01
/** Time that may be saved up. */
const SAVED_UP_MS = 1_000
const MOST_PENDING = 1_024
const MOST_CONTENT = 16_000_000

/** Takes calls, and hands their spans on; `done` is told of each that is written or dropped. */
export function spanWriter(
  { content }: { content: boolean },
  { exporter, done }: { exporter: SpanExporter; done: (trace: string) => void },
) {
  let pending: EndedCall[] = []
  let spans = 0
  let characters = 0
  let last = 0
  let scheduled = false
  const write = (budget: number) => {
    const began = monotonicMs()
    let count = 0
    for (const call of pending) {
      exporter.add(spansOf(call))
      done(call.trace.id)
      spans -= aboutSpans(call)
      characters -= contentSize(call)
      count++
      if (monotonicMs() - began > budget) break
    }
    pending = pending.slice(count)
    last = monotonicMs()
  }
  const schedule = () => {
    if (scheduled || pending.length === 0) return
    scheduled = true
    realClock.sleep(TOGETHER_MS).then(() => {
      scheduled = false
      write(Math.min(SAVED_UP_MS, monotonicMs() - last) * SHARE)
      schedule()
    })
  }
  return {
    /** About how many spans are not written yet. */
    waiting: () => spans,
    add(one: PendingCall) {
      if (pending.length >= MOST_PENDING || characters >= MOST_CONTENT) {
        exporter.lose(aboutSpans(one.saved))
        return done(one.saved.trace.id)
      }
      const call = endedCall(one, content)
      pending.push(call)
      spans += aboutSpans(call)
      characters += contentSize(call)
      schedule()
    },
    writeAll: () => write(Number.POSITIVE_INFINITY),
  }
}

const aboutSpans = ({ trace }: Pick<EndedCall, 'trace'>): number => 1 + trace.attempts.length
const contentSize = ({ content }: EndedCall): number => (content ? content.input.length + content.output.length : 0)

/** What is kept of a call: of a request and its answer only what spans say of them. */
function endedCall({ open, saved, call }: PendingCall, content: boolean): EndedCall {
  const { trace, seq, at } = saved
  const { request, answer, retained = false } = call
  const offset = wallOffset()
  return {
    trace,
    seq,
    position: open.position,
    begun: open.at + offset,
    ended: at + offset,
    attemptEnds: open.attemptEnds.map((end) => end + offset),
    url: open.url,
    parameters: parameterAttributes(request),
    answer: answerFacts(answer),
    content: content && retained ? contentOf(request, answer) : undefined,
  }
}
