// Stored agent tasks: the task, its messages, and the journal of its steps.
import type { z } from 'zod'
import type { Identity, TemplateEngine, Thread } from '../router/shared.ts'
import type { TaskMessage, TaskPart } from './agent-task.ts'
import type { Caller } from './record.ts'
import type { TaskState } from './task-state.ts'

/**
 * The kind of the records that are tasks. Messages, steps and the turn's data are children of their task, a task is a
 * child of its agent. A task has a key as long as it is active.
 */
export const AGENT_TASK = 'agent_task'
/** Kind of the record that has the agent's manifest and the options of a task's calls. */
export const AGENT_TURN = 'agent_turn'
/** Kind of the record that counts the client tasks of an agent. */
export const AGENT_COUNT = 'agent_count'
/** Kind of the records that are the messages of a task. */
export const AGENT_MESSAGE = 'agent_message'
/** Kind of the records that are the journal of a task's steps. */
export const AGENT_STEP = 'agent_step'

/** Why a turn ended or waits. */
export type TaskReason =
  | 'stop'
  | 'tool_calls'
  | 'approval'
  | 'sub_task'
  | 'max_iterations'
  | 'max_time'
  | 'max_cost'
  | 'max_team_calls'
  | 'error'
  | 'canceled'

/** The options of a task's calls so far. A later call changes those that it sends. */
export interface TaskSayings {
  variables: Record<string, unknown>
  engine: TemplateEngine
  identity?: z.infer<typeof Identity> | undefined
  thread?: z.infer<typeof Thread> | undefined
  memory?: { entity_id: string } | undefined
  metadata?: Record<string, unknown> | undefined
}

/** The current or last turn of a task. */
interface TaskTurn {
  /** 1, 2, ...: one per call of the client. */
  number: number
  /** Milliseconds since the epoch. */
  started: number
  /** Model calls, milliseconds of work and USD since the last user message. */
  iterations: number
  spent_ms: number
  cost: number
  /** Id of its trace, and its number. */
  trace: string
  seq: number
  /** Injection point of the client call that started it; for a sub-task, that of its parent task. */
  point?: string
}

/** A stored task. */
export type TaskRecord = {
  _id: string
  workspace_id: string
  context_id: string
  agent_id: string
  agent_key: string
  state: TaskState
  finish_reason: TaskReason | null
  /** The error of a failed task. */
  error: { message: string; code: string; status: number } | null
  created: string
  updated: string
  caller: Caller
  /**
   * The called URL as received (`received`) and its route (`/v2/agents/{key}/task`); the scenario that the call
   * selected, and the trace of the caller.
   */
  from: {
    url: string
    received?: string
    route?: string
    scenario: string | null
    traceparent?: string
    tracestate?: string
  }
  says: TaskSayings
  turn: TaskTurn
  /** Totals of the task; `billed` is the cost that its agent has been charged. */
  totals: { iterations: number; tool_calls: number; cost: number; billed: number }
  counts: { messages: number; steps: number }
  /** The parent task. */
  parent: { task: string; tool_call_id: string; trace: string } | null
  /** The first ancestor of the task, or the task itself, and its depth below it. */
  root: string
  depth: number
  /** The number of its descendants, and of their model calls, since its last user message. */
  descendants: number
  team_calls: number
  /** Its sub-tasks by the tool call that started them. */
  children: Record<string, string>
  /** Tool calls that wait for an approval, and those that have it. */
  pending: string[]
  approved: string[]
  /** The key: its id while it is active, otherwise null. */
  active: string | null
}

/** A stored message. */
export type MessageRecord = {
  _id: string
  message: TaskMessage
  /** What the model receives, if variables were filled in. */
  filled?: TaskPart[]
  turn: number
  iteration: number
  /** The trace of the model call that produced it. */
  trace: string | null
}
