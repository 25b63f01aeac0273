// Writes the spans of calls that have ended, when their answers have gone: a few at a time, so that no call that comes meanwhile
// waits for long.
import { realClock } from '../../lib/clock.ts'
import { monotonicMs } from '../../lib/monotonic.ts'
import { aboutSpans, callQueue, type PendingCall } from './call-queue.ts'
import type { SpanExporter } from './export.ts'
import { spansOf } from './spans.ts'

/** Between two turns of writing: many calls at once take far less time than one now and then. */
const TURN_MS = 100
/** How long a turn writes at most. */
const WRITING_MS = 2

/** Takes calls, and hands their spans on; `done` is told of each that is written or dropped. */
export function spanWriter(
  { content }: { content: boolean },
  { exporter, done }: { exporter: SpanExporter; done: (trace: string) => void },
) {
  const queue = callQueue(content)
  let scheduled = false
  const write = (budget: number) => {
    const until = monotonicMs() + budget
    queue.take(
      (call) => {
        exporter.add(spansOf(call))
        done(call.trace.id)
      },
      () => monotonicMs() < until,
    )
  }
  const turn = () => {
    write(WRITING_MS)
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
    writeAll: () => write(Number.POSITIVE_INFINITY),
  }
}
