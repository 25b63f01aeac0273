// A turn at work: what its steps share. They read it and give what they change of the task; the runner commits that.

import type { TaskStep } from '../../contract/core/trace.ts'
import type { MessageRecord } from '../../contract/workspace/task-record.ts'
import type { AskModel } from '../../gateway/ask.ts'
import type { Gateway } from '../../gateway/types.ts'
import { sinceInstant } from '../../lib/clock.ts'
import type { Session } from '../../sessions/sessions.ts'
import type { TaskEvents } from '../store/events.ts'
import { type AgentFunction, type AgentTaskRecord, offeredTools } from '../store/manifest.ts'
import { findTask, messagesOf, type TaskChange, type TaskPlace } from '../store/store.ts'
import type { ToolCall, ToolFixtures, ToolResult } from '../tools/define.ts'

/** What turns work with. */
export interface TurnDeps {
  gateway: Pick<Gateway, 'call' | 'knowledge' | 'report' | 'observers' | 'runs'>
  ask: AskModel
  events: TaskEvents
  fixtures: ToolFixtures
  /** Has another agent do something for a task, as a task of its own. */
  delegate(turn: Turn, work: { agent: string; message: string; call: ToolCall }): Promise<ToolResult>
}

/** What a step changes of the task, as that is when it is committed. */
export type TurnChange = (task: AgentTaskRecord) => TaskChange

/** A turn at work. */
export interface Turn {
  readonly deps: TurnDeps
  readonly session: Session
  readonly place: TaskPlace
  /** As it was committed last, or read since. */
  task: AgentTaskRecord
  /** All its messages, as of then. */
  readonly history: MessageRecord[]
  /** Whether something that was read was not committed after all. */
  isStale: boolean
  readonly offered: ReadonlyMap<string, AgentFunction>
  /** Calls whose sub-task waits for its client. */
  readonly waiting: Set<string>
  /** Aborted when the turn is ended. */
  readonly signal: AbortSignal
  /** Calls whose answers come when it is over, and the calls of tools that they answer. */
  readonly late: LateCall[]
  /** Milliseconds at work, since its user spoke last. */
  spent(): number
}

/** A call whose answer comes when its turn is over. */
export interface LateCall {
  tool_call_id: string | undefined
  /** Waits for the answer, and has what it changes committed. */
  arrive(commit: (change: TurnChange) => Promise<void>): Promise<void>
}

/** A turn of a task that is to go on. */
export function turnOf(
  session: Session,
  task: AgentTaskRecord,
  { deps, signal }: { deps: TurnDeps; signal: AbortSignal },
): Turn {
  const place = { session, workspace: task.workspace_id }
  const { clock } = session
  const begun = clock.passed()
  const { spent_ms } = task.turn
  return {
    deps,
    session,
    place,
    task,
    history: messagesOf(place, task._id),
    isStale: false,
    offered: offeredTools(task.manifest),
    waiting: new Set(),
    signal,
    late: [],
    spent: () => spent_ms + clock.passed() - begun,
  }
}

/** The task is not there any more: its agent was deleted, or it was. */
export class TaskGone extends Error {}

/**
 * Takes the task of a turn as it is stored now: decisions about calls of tools come at any time.
 * @throws TaskGone
 */
export function refresh(
  turn: Turn,
  found: AgentTaskRecord | undefined = findTask(turn.place, turn.task._id, turn.task),
): AgentTaskRecord {
  if (!found) throw new TaskGone('the task is gone')
  if (turn.isStale || found.counts.messages !== turn.history.length)
    turn.history.splice(0, turn.history.length, ...messagesOf(turn.place, found._id))
  turn.isStale = false
  turn.task = found
  return found
}

/** A step of the journal that has just ended. */
export function journalStep(
  { task, session }: Pick<Turn, 'task' | 'session'>,
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
