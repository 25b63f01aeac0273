// Calls that have ended and wait for their spans to be written: no more of them than fit.
import type { CallMaterial, TraceSaved } from '../../contract/observation.ts'
import { realClock } from '../../lib/clock.ts'
import { monotonicMs } from '../../lib/monotonic.ts'
import { answerFacts, parameterAttributes } from './answer-facts.ts'
import { contentOf } from './content.ts'
import type { EndedCall } from './ended-call.ts'
import type { OpenCall } from './observed-calls.ts'

/** A call that has ended. */
export interface PendingCall {
  open: OpenCall
  saved: TraceSaved
  call: CallMaterial
}

/** By so many milliseconds the clock of the machine was put to another time; it shows whole ones alone. */
const JUMP_MS = 2
let offset = Number.NaN

/** What the clock of the machine says when that of observations is at 0: the same for all spans, so that their order is the true one. */
export function wallOffset(): number {
  const before = monotonicMs()
  const now = realClock.now() - before
  // Who was interrupted between the two has seen no jump.
  const interrupted = monotonicMs() - before > JUMP_MS / 2
  if (Number.isNaN(offset) || (!interrupted && Math.abs(now - offset) > JUMP_MS)) offset = now
  return offset
}

const MOST_PENDING = 2_048
const MOST_CONTENT = 16_000_000
/** Calls of which requests and answers are held on to, until the next turn, so that their clients need not wait. */
const MOST_WHOLE = 64

type Waiting = { whole: PendingCall; brief?: undefined } | { whole?: undefined; brief: EndedCall }

/** A queue that is empty; `content` says whether what was said goes with them. */
export function callQueue(content: boolean) {
  let waiting: Waiting[] = []
  let whole = 0
  let spans = 0
  let characters = 0
  const briefly = (one: PendingCall): EndedCall => {
    const call = endedCall(one, content)
    characters += contentSize(call)
    return call
  }
  return {
    size: () => waiting.length,
    /** About how many spans they will be. */
    spans: () => spans,
    /** False when there is no room. */
    add(one: PendingCall): boolean {
      if (waiting.length >= MOST_PENDING || characters >= MOST_CONTENT) return false
      if (whole < MOST_WHOLE) {
        waiting.push({ whole: one })
        whole++
      } else waiting.push({ brief: briefly(one) })
      spans += aboutSpans(one.saved)
      return true
    },
    /** Takes one after the other for as long as `more` says so. */
    take(write: (call: EndedCall) => void, more: () => boolean): void {
      let count = 0
      for (const one of waiting) {
        if (one.whole) whole--
        const call = one.brief ?? briefly(one.whole)
        spans -= aboutSpans(call)
        characters -= contentSize(call)
        count++
        write(call)
        if (!more()) break
      }
      waiting = waiting.slice(count)
    },
    /** Lets go of requests and answers. */
    settle() {
      if (whole > 0) waiting = waiting.map((one) => (one.whole ? { brief: briefly(one.whole) } : one))
      whole = 0
    },
  }
}

/** About how many spans a call is. */
export const aboutSpans = ({ trace }: Pick<EndedCall, 'trace'>): number => 1 + trace.attempts.length
const contentSize = ({ content }: EndedCall): number =>
  content ? content.input.json.length + content.output.json.length : 0

/** What is kept of a call: of a request and its answer only what spans say of them. */
function endedCall({ open, saved, call }: PendingCall, content: boolean): EndedCall {
  const { trace, seq, at } = saved
  const { request, answer, steps = [], retained = false, httpStatus = trace.status } = call
  const offset = wallOffset()
  return {
    trace,
    seq,
    position: open.position,
    begun: open.at + offset,
    ended: at + offset,
    attemptEnds: open.attemptEnds.map(({ at, httpStatus }) => ({ at: at + offset, httpStatus })),
    steps: steps.length === 0 ? steps : steps.map((step) => ({ ...step, at: step.at + offset })),
    agent: open.agent && { asked: later(open.agent.asked, offset), ended: later(open.agent.ended, offset) },
    address: open.address,
    httpStatus,
    parameters: parameterAttributes(request),
    answer: answerFacts(answer),
    content: content && retained ? contentOf(request, answer) : undefined,
  }
}

const later = <Key>(times: ReadonlyMap<Key, number>, offset: number): Map<Key, number> =>
  new Map([...times].map(([key, time]) => [key, time + offset]))
