// The journal of a task, with an entry for each step, and the trace of a turn: stored before its call gets a response,
// and finalized when the turn ends.
import { envelope } from '../../contract/core/error.ts'
import type { TaskStep, TraceRecord } from '../../contract/core/trace.ts'
import { emptySteps } from '../../gateway/record/recording.ts'
import { sessionPart } from '../../gateway/record/trace-record.ts'
import { realClock, sinceInstant } from '../../lib/clock.ts'
import { sumOf } from '../../lib/values.ts'
import type { Session } from '../../sessions/sessions.ts'
import type { AgentTaskRecord } from './manifest.ts'
import { shownTask, taskTrace } from './show.ts'
import type { WholeTask } from './store.ts'

/** The operation of a call that submits a task. */
export const TASK_OPERATION = 'agent.task'

const COUNTS = ['prompt_tokens', 'completion_tokens', 'total_tokens'] as const

/** The sum of the tokens of all model calls. */
function usageOf(steps: readonly TaskStep[]): TraceRecord['usage'] {
  const used = steps.flatMap(({ usage }) => (usage ? [usage as Record<string, unknown>] : []))
  if (used.length === 0) return null
  return Object.fromEntries(COUNTS.map((name) => [name, sumOf(used, (usage) => Number(usage[name] ?? 0))]))
}

function costOfSteps(steps: readonly TaskStep[]): number | null {
  const costs = steps.flatMap(({ cost }) => (cost === null ? [] : [cost]))
  return costs.length === 0 ? null : sumOf(costs, (cost) => cost)
}

/** The current trace of a turn; `steps` are its own. */
function turnTrace(session: Session, task: AgentTaskRecord, steps: readonly TaskStep[]): TraceRecord {
  const { turn, says, error, manifest } = task
  const failure = error && { ...error, param: null }
  return {
    id: turn.trace,
    ...sessionPart(session, turn.seq),
    operation: TASK_OPERATION,
    parent: task.parent?.trace ?? null,
    internal: task.parent !== null,
    name: task.agent_key,
    ...(turn.point !== undefined && task.parent === null && { call_site: turn.point }),
    model: manifest.model,
    stream: false,
    route: 'gateway',
    // The call itself succeeded, whatever the result of the task.
    status: 200,
    outcome: 'succeeded',
    started_at: new Date(turn.started).toISOString(),
    duration_ms: sinceInstant(session.clock, turn.started),
    fixture: null,
    generated: false,
    ...emptySteps(),
    faults: [...new Set(steps.flatMap(({ faults = [] }) => faults))],
    plan: [manifest.model, ...manifest.fallbacks.map(({ model }) => model)],
    retry_after_ms: null,
    usage: usageOf(steps),
    cost: costOfSteps(steps),
    attachments: [],
    metadata: (says.metadata ?? null) as TraceRecord['metadata'],
    identity: says.identity ?? null,
    thread: says.thread ?? null,
    error: failure ? envelope(failure).error : null,
    task: taskTrace(task, steps),
  }
}

/** Stores the first form of the trace, with the call that starts the turn. Call it inside a transaction. */
export function recordTurn(session: Session, task: AgentTaskRecord, request: string): void {
  const arrived = realClock.now()
  const stored = { arrived, left: arrived, request, rendered: 'null', answer: 'null' }
  session.traces.insert(task.turn.seq, turnTrace(session, task, []), stored)
}

/**
 * Stores the final trace of a task's turn, which ended at `ended` (ms since the epoch). Call it inside a transaction.
 */
export function replaceTurnTrace(
  session: Session,
  { task, history }: WholeTask,
  { journal, ended }: { journal: readonly TaskStep[]; ended: number },
): TraceRecord {
  const steps = journal.filter(({ turn }) => turn === task.turn.number)
  const trace = { ...turnTrace(session, task, steps), duration_ms: Math.max(0, ended - task.turn.started) }
  session.traces.replace(trace, JSON.stringify(shownTask(task, history)))
  return trace
}

/** A journal entry for a step that has just ended. */
export function journalStep(
  { task, session }: { task: AgentTaskRecord; session: Session },
  started: number,
  about: Pick<TaskStep, 'kind' | 'name' | 'outcome'> & Partial<TaskStep>,
): TaskStep {
  return {
    turn: task.turn.number,
    iteration: task.turn.iterations,
    tool_call_id: null,
    started_at: new Date(started).toISOString(),
    duration_ms: sinceInstant(session.clock, started),
    error: null,
    trace: null,
    task: null,
    usage: null,
    cost: null,
    ...about,
  }
}
