// A turn at work: what its steps share, and how each is committed before the next.
import type { MessageRecord } from '../contract/task-record.ts'
import type { TaskStep } from '../contract/trace.ts'
import type { AskModel } from '../gateway/ask.ts'
import type { CallOrigin } from '../gateway/call.ts'
import type { Gateway } from '../gateway/types.ts'
import { sinceInstant } from '../lib/clock.ts'
import type { Session } from '../sessions/sessions.ts'
import type { TaskEvents } from './events.ts'
import { type AgentFunction, type AgentTaskRecord, offeredTools } from './manifest.ts'
import { findTask, messagesOf, type TaskChange, type TaskPlace, writeChange } from './store.ts'
import { countTeamCalls } from './team-limits.ts'
import type { ToolCall, ToolFixtures, ToolResult } from './tools/define.ts'
import { TaskGone } from './turn-end.ts'

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
  readonly offered: ReadonlyMap<string, AgentFunction>
  /** Calls whose sub-task waits for its client. */
  readonly waiting: Set<string>
  /** Aborted when the turn is ended. */
  readonly signal: AbortSignal
  /** Calls whose answers come when it is over, and the calls of tools that they answer. */
  readonly late: { tool_call_id: string | undefined; arrive(): Promise<void> }[]
  /** Commits a step; the change is made of the task as it is then. Rejects with the signal's reason when the turn is over, and writes nothing. */
  commit(change: TurnChange): Promise<void>
  /** Reads what others have written since: decisions about calls of tools come at any time. Throws `TaskGone`. */
  refresh(): void
  /**
   * Commits the end of the turn, whatever its signal says; `also` is done in the same transaction. False, and nothing is written, when
   * there is no `change`: what was written since the turn was last read goes on with it.
   */
  finish(
    change: () => TaskChange | undefined,
    also: (written: AgentTaskRecord, before: AgentTaskRecord) => void,
  ): Promise<boolean>
  /** On whose behalf its calls are made, which end with a signal. */
  origin(signal: AbortSignal): CallOrigin
}

/** A turn of a task that is to go on. */
export function turnOf(
  session: Session,
  task: AgentTaskRecord,
  { deps, signal }: { deps: TurnDeps; signal: AbortSignal },
): Turn {
  const place = { session, workspace: task.workspace_id }
  const turn: Turn = {
    deps,
    session,
    place,
    task,
    history: messagesOf(place, task._id),
    offered: offeredTools(task.manifest),
    waiting: new Set(),
    signal,
    late: [],
    refresh: () => void refresh(),
    commit: (change) =>
      write(
        change,
        () => signal.throwIfAborted(),
        () => {},
      ).then(() => {}),
    finish: (change, also) => write(change, () => {}, also),
    origin: (own) => ({
      session,
      caller: () => turn.task.caller,
      headers: new Headers(task.from.scenario === null ? {} : { 'x-understudy-scenario': task.from.scenario }),
      url: task.from.url,
      retained: true,
      signal: own,
      trace: turn.task.turn.trace,
    }),
  }
  const { refresh, write } = writerOf(turn)
  return turn
}

/** Reads and writes the task of a turn that begins. */
function writerOf(turn: Omit<Turn, 'refresh' | 'commit' | 'finish'>) {
  const { session, place, task } = turn
  const { clock } = session
  const begun = clock.passed()
  const spent = task.turn.spent_ms
  // Set when something that was read was not committed after all.
  let isStale = false
  const refresh = (): AgentTaskRecord => {
    const current = findTask(place, task._id, task)
    if (!current) throw new TaskGone('the task is gone')
    if (isStale || current.counts.messages !== turn.history.length)
      turn.history.splice(0, turn.history.length, ...messagesOf(place, task._id))
    isStale = false
    turn.task = current
    return current
  }
  const write = async (
    change: (task: AgentTaskRecord) => TaskChange | undefined,
    before: () => void,
    also: (written: AgentTaskRecord, before: AgentTaskRecord) => void,
  ): Promise<boolean> => {
    const made = await session
      .transact(() => {
        before()
        const current = refresh()
        const made = change(current)
        if (!made) return undefined
        const use = { ...current.turn, ...made.task?.turn, spent_ms: spent + clock.passed() - begun }
        const stored = writeChange(place, current, { ...made, task: { ...made.task, turn: use } })
        countTeamCalls(stored.task, stored.task.totals.iterations - current.totals.iterations, place)
        turn.task = stored.task
        turn.history.push(...stored.messages)
        also(stored.task, current)
        return { ...stored, steps: made.steps ?? [] }
      })
      .catch((error) => {
        isStale = true
        throw error
      })
    if (made) turn.deps.events.notify(session, { type: 'changed', ...made })
    return made !== undefined
  }
  return { refresh, write }
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
