// Tasks of agents as they are stored: the task, its messages, and the journal of its steps.
import type { z } from 'zod'
import type { Identity, TemplateEngine, Thread } from '../router/shared.ts'
import type { TaskMessage, TaskPart, TaskState } from './agent-task.ts'
import type { Caller } from './record.ts'

/**
 * The kinds of the records; messages, steps and what a turn works with lie in their task, a task in its agent. One has a key as
 * long as it is active.
 */
export const AGENT_TASK = 'agent_task'
/** Kind of the record that has the agent's manifest and the options of a task's calls. */
export const AGENT_TURN = 'agent_turn'
/** How many tasks of clients an agent has had. */
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

/** What the calls of a task have said so far; a later call says what it changes. */
export interface TaskSayings {
  variables: Record<string, unknown>
  engine: TemplateEngine
  identity?: z.infer<typeof Identity> | undefined
  thread?: z.infer<typeof Thread> | undefined
  memory?: { entity_id: string } | undefined
  metadata?: Record<string, unknown> | undefined
}

/** The turn of a task that goes on, or went on last. */
interface TaskTurn {
  /** 1, 2, ...: one for each call of the client. */
  number: number
  /** Milliseconds since the epoch. */
  started: number
  /** Model calls, milliseconds at work and USD since the user spoke last. */
  iterations: number
  spent_ms: number
  cost: number
  /** Id of its trace, and the number of that. */
  trace: string
  seq: number
  /** Which of the client's calls has begun it; that of a sub-task's is the one of the task that it works for. */
  point?: string
}

/** A task as it is stored. */
export type TaskRecord = {
  _id: string
  workspace_id: string
  context_id: string
  agent_id: string
  agent_key: string
  state: TaskState
  finish_reason: TaskReason | null
  /** What made it fail. */
  error: { message: string; code: string; status: number } | null
  created: string
  updated: string
  caller: Caller
  /**
   * The address that was called, as it came (`received`) and as routes name its path (`/v2/agents/{key}/task`); the scenario that the call
   * chose, and the trace of the caller that it belongs to.
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
  /** Of the whole task; `billed` is the cost that its agent has been charged with. */
  totals: { iterations: number; tool_calls: number; cost: number; billed: number }
  counts: { messages: number; steps: number }
  /** The task that it works for. */
  parent: { task: string; tool_call_id: string; trace: string } | null
  /** The task that the first of its parents is, or itself, and how many lie between. */
  root: string
  depth: number
  /** How many tasks work for it, and for those, and how often their models were asked, since its user spoke last. */
  descendants: number
  team_calls: number
  /** Its sub-tasks by the call of a tool that they answer. */
  children: Record<string, string>
  /** Calls of tools that wait for somebody's approval, and those that have it. */
  pending: string[]
  approved: string[]
  /** The key: its id while it is active, else null. */
  active: string | null
}

/** A message as it is stored. */
export type MessageRecord = {
  _id: string
  message: TaskMessage
  /** What the model reads of it, when variables were filled in. */
  filled?: TaskPart[]
  turn: number
  iteration: number
  /** Of the model call that it comes from. */
  trace: string | null
}
