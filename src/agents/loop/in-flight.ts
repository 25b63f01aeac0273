// Calls in flight. Where their task is canceled, their results arrive late if the scenario says so.
import { ApiError } from '../../contract/core/error.ts'
import { valueReply } from '../../contract/core/reply.ts'
import type { TaskStep } from '../../contract/core/trace.ts'
import { sinceInstant } from '../../lib/clock.ts'
import { startDeadline, unlessAborted } from '../../lib/deadline.ts'
import { commit } from '../store/commit.ts'
import { type ToolCallPart, toolCallsOf } from '../store/messages.ts'
import { findTask } from '../store/store.ts'
import { taskFaults } from './task-faults.ts'
import type { Turn, TurnChange } from './turn.ts'
import { canceled, closedCalls, noResult, TurnEnded } from './turn-end.ts'

/** A model or tool call. */
export interface CallUnderWay<Answer> {
  /** Unique within the turn. */
  key: string
  iteration: number
  /** The tool call that it executes; absent for a model call. */
  part?: ToolCallPart
  /** The names of the tool. */
  tool?: readonly string[]
  /** Makes the call. Its signal aborts with the turn, unless the call becomes a late one. */
  make(signal: AbortSignal): Promise<Answer>
  /** The change of the task by its result. */
  change(answer: Answer): TurnChange
}

/** Makes a call of a turn. Rejects with the reason of the turn's signal if that aborts first. */
export async function awaitCall<Answer>(turn: Turn, call: CallUnderWay<Answer>): Promise<Answer> {
  const { signal } = turn
  const own = new AbortController()
  const work = call.make(own.signal)
  const leave = () => {
    if (!comesLate(turn, call, { own, work })) own.abort(signal.reason)
  }
  signal.addEventListener('abort', leave, { once: true })
  try {
    return await unlessAborted(signal, work)
  } finally {
    signal.removeEventListener('abort', leave)
  }
}

/**
 * Whether a call continues although its task was canceled, by a fault of the scenario. It is then added to the turn's
 * late calls.
 */
function comesLate<Answer>(
  turn: Turn,
  call: CallUnderWay<Answer>,
  { own, work }: { own: AbortController; work: Promise<Answer> },
): boolean {
  const { session, task, deps, signal } = turn
  if (!(signal.reason instanceof TurnEnded && signal.reason.reason === 'canceled')) return false
  const { tool, iteration, key, part } = call
  // A sub-task ends with its parent.
  if (part && findTask(turn.place, task._id)?.children[part.tool_call_id] !== undefined) return false
  const moment = { iteration, key: `cancel:${iteration}:${key}`, request: part?.arguments, tool }
  const faults = taskFaults(turn, { at: 'cancel', ...moment })
  if (!faults) return false
  const activity = session.begin({ signal: new AbortController().signal })
  const longest = task.manifest.settings.max_execution_time * 1000
  const lifetime = startDeadline(session.clock, longest, { outer: activity.signal, reason: canceled })
  lifetime.signal.addEventListener('abort', () => own.abort(lifetime.signal.reason), { once: true })
  const rules: string[] = []
  const end = async () => {
    own.abort(signal.reason)
    return valueReply({})
  }
  const decided = faults.through({ signal: activity.signal, onTriggered: (rule) => rules.push(rule) }, end)
  decided.catch(() => {})
  turn.late.push({
    tool_call_id: part?.tool_call_id,
    async arrive() {
      try {
        await decided
        await commitLate(turn, lateChange(turn, call.change(await work), rules))
      } catch (error) {
        if (session.ended.aborted) return
        if (!own.signal.aborted && !(error instanceof ApiError)) deps.gateway.report(error)
        if (part) await commitLate(turn, () => closedCalls(turn, [part], noResult('canceled')))
      } finally {
        lifetime.stop()
        activity.end()
      }
    },
  })
  return true
}

/** The change by a late result. Tool calls that a model then requests are not made. */
const lateChange =
  (turn: Turn, change: TurnChange, rules: readonly string[]): TurnChange =>
  (task) => {
    const made = change(task)
    const calls = (made.messages ?? []).flatMap(toolCallsOf)
    const closed = closedCalls(turn, calls, noResult('canceled'))
    const late = (step: TaskStep): TaskStep => ({
      ...step,
      duration_ms: sinceInstant(turn.session.clock, Date.parse(step.started_at)),
      late: true,
      faults: [...(step.faults ?? []), ...rules],
    })
    return {
      ...made,
      messages: [...(made.messages ?? []), ...closed.messages],
      steps: [...(made.steps ?? []).map(late), ...closed.steps],
    }
  }

/**
 * Commits the late result of a canceled task's call; nothing if the task was continued, which closed the call, or
 * deleted.
 */
async function commitLate({ deps, place, task: { _id, turn } }: Turn, change: TurnChange): Promise<void> {
  const { events } = deps
  const read = () => {
    const found = findTask(place, _id)
    return found?.state === 'canceled' && found.turn.number === turn.number ? found : undefined
  }
  await commit(place, change, { events, read })
}
