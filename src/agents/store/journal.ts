// The journal of a task: an entry for each step.
import type { TaskStep } from '../../contract/core/trace.ts'
import { sinceInstant } from '../../lib/clock.ts'
import type { Session } from '../../sessions/sessions.ts'
import type { AgentTaskRecord } from './manifest.ts'

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
