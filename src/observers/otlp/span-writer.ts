// Writes the spans of calls that have ended, when their answers have gone: a few at a time, so that no call that comes meanwhile
// waits for long, and for a small part of the time. What comes faster than that waits, and what finds no room any more is
// dropped, whole calls at a time.
import { nextTurn } from '../../lib/bare-socket.ts'
import { realClock } from '../../lib/clock.ts'
import { monotonicMs } from '../../lib/monotonic.ts'
import { aboutSpans, callQueue, type PendingCall } from './call-queue.ts'
import type { SpanExporter } from './export.ts'
import { spansOf } from './spans.ts'

/** Between two turns of writing. */
const TURN_MS = 10
/** How long a turn writes, and how many calls it writes however long they take: more than a thousand a second. */
const WRITING_MS = 0.15
const LEAST_CALLS = 12
/** How long a call that comes waits for what is being written, as long as no more calls than these wait to be. */
const PIECE_MS = 0.03
const FEW_CALLS = 32

/** Takes calls, and hands their spans on; `done` is told of each that is written or dropped. */
export function spanWriter(
  { content }: { content: boolean },
  { exporter, done }: { exporter: SpanExporter; done: (trace: string) => void },
) {
  const queue = callQueue(content)
  let scheduled = false
  const write = (budget: number): number => {
    const until = monotonicMs() + budget
    return queue.take(
      (call) => {
        exporter.add(spansOf(call))
        done(call.trace.id)
      },
      () => monotonicMs() < until,
    )
  }
  const turn = async () => {
    let left = WRITING_MS
    let calls = 0
    while (queue.size() > 0 && (calls < LEAST_CALLS || left > 0)) {
      const began = monotonicMs()
      calls += write(PIECE_MS)
      left -= monotonicMs() - began
      // With much to do more turns of the event loop would cost the calls more than the wait: those of a turn share a transaction.
      if (queue.size() < FEW_CALLS) await nextTurn()
    }
    // Of those for which there was no time.
    queue.settle()
    scheduled = false
    schedule()
  }
  const schedule = () => {
    if (scheduled || queue.size() === 0) return
    scheduled = true
    realClock.sleep(TURN_MS).then(turn)
  }
  return {
    /** About how many spans are not written yet. */
    waiting: queue.spans,
    add(one: PendingCall) {
      if (queue.add(one)) return schedule()
      exporter.lose(aboutSpans(one.saved))
      done(one.saved.trace.id)
    },
    writeAll: () => void write(Number.POSITIVE_INFINITY),
  }
}
