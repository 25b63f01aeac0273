// A running turn, shared by its steps: how they read its task, and how their changes are committed.
import type { MessageRecord } from '../../contract/workspace/task-record.ts'
import type { AskModel } from '../../gateway/ask.ts'
import type { Gateway } from '../../gateway/types.ts'
import type { Session } from '../../sessions/sessions.ts'
import { type CommitParts, commit } from '../store/commit.ts'
import type { TaskEvents } from '../store/events.ts'
import { countTeamCalls } from '../store/limits.ts'
import { type AgentFunction, type AgentTaskRecord, offeredTools } from '../store/manifest.ts'
import { findTask, messagesOf, type TaskChange, type TaskPlace } from '../store/store.ts'
import type { ToolCall, ToolFixtures, ToolResult } from '../tools/define.ts'

/** The dependencies of turns. */
export interface TurnDeps {
  gateway: Pick<Gateway, 'call' | 'knowledge' | 'report' | 'observers' | 'runs'>
  ask: AskModel
  events: TaskEvents
  fixtures: ToolFixtures
  /** Delegates work to another agent, in a sub-task. */
  delegate(turn: Turn, work: { agent: string; message: string; call: ToolCall }): Promise<ToolResult>
}

/** The change of a task by a step, computed from its state at the commit. */
export type TurnChange = (task: AgentTaskRecord) => TaskChange

/** A running turn. */
export interface Turn {
  readonly deps: TurnDeps
  readonly session: Session
  readonly place: TaskPlace
  /** The last committed or read state. */
  task: AgentTaskRecord
  /** All its messages in that state, once it was read. */
  readonly history: MessageRecord[]
  /** Whether the messages must be read: they were not yet, or what was read was not committed after all. */
  isStale: boolean
  readonly offered: ReadonlyMap<string, AgentFunction>
  /** Calls whose sub-task waits for its client. */
  readonly waiting: Set<string>
  /** Aborts when the turn is ended. */
  readonly signal: AbortSignal
  /** Calls whose results arrive after its end. */
  readonly late: LateCall[]
  /** Milliseconds of work since the last user message. */
  spent(): number
}

/** A call whose result arrives after the end of its turn. */
interface LateCall {
  tool_call_id: string | undefined
  /** Waits for the result, and commits its change. */
  arrive(): Promise<void>
}

/** A turn of a task to continue. */
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
    history: [],
    isStale: true,
    offered: offeredTools(task.manifest),
    waiting: new Set(),
    signal,
    late: [],
    spent: () => spent_ms + clock.passed() - begun,
  }
}

/** The task was deleted, or its agent was. */
export class TaskGone extends Error {}

/**
 * Reads the current state of a turn's task: decisions about tool calls arrive at any time.
 * @throws TaskGone
 */
export function refresh(turn: Turn): AgentTaskRecord {
  const found = findTask(turn.place, turn.task._id, turn.task)
  if (!found) throw new TaskGone('the task is gone')
  if (turn.isStale || found.counts.messages !== turn.history.length)
    turn.history.splice(0, turn.history.length, ...messagesOf(turn.place, found._id))
  turn.isStale = false
  turn.task = found
  return found
}

/**
 * Commits a step. Returns false without writing if there is no change. Rejects with what `guard` throws: the
 * signal's reason if the turn is over.
 */
export async function commitStep(
  turn: Turn,
  change: (task: AgentTaskRecord) => TaskChange | undefined,
  { guard, also }: Pick<CommitParts, 'also'> & { guard(): void } = { guard: () => turn.signal.throwIfAborted() },
): Promise<boolean> {
  const { place, history, deps } = turn
  const timed = (task: AgentTaskRecord) => {
    const made = change(task)
    return (
      made && { ...made, task: { ...made.task, turn: { ...task.turn, ...made.task?.turn, spent_ms: turn.spent() } } }
    )
  }
  const written = await commit(place, timed, {
    ...{ events: deps.events, history },
    read() {
      guard()
      return refresh(turn)
    },
    also(stored, before) {
      const { task, messages } = stored
      countTeamCalls(task, task.totals.iterations - before.totals.iterations, place)
      turn.task = task
      history.push(...messages)
      also?.(stored, before)
    },
  }).catch((error) => {
    turn.isStale = true
    throw error
  })
  return written !== undefined
}
