// Shapes of stored agent tasks (task-record.ts), as far as the program reads them.
import { z } from 'zod'
import { TaskStep } from '../core/trace.ts'
import { TaskMessage } from './agent-task.ts'
import { AGENT_COUNT, AGENT_MESSAGE, AGENT_STEP, AGENT_TASK, AGENT_TURN } from './task-record.ts'
import { TASK_STATES } from './task-state.ts'

const Id = z.string().min(1)
const ErrorShape = z.looseObject({ message: z.string(), code: z.string() })

const TaskShape = z.looseObject({
  _id: Id,
  workspace_id: Id,
  context_id: Id,
  agent_id: Id,
  agent_key: z.string(),
  state: z.enum(TASK_STATES),
  finish_reason: z.string().nullable(),
  error: ErrorShape.nullable(),
  created: z.iso.datetime(),
  updated: z.iso.datetime(),
  caller: z.looseObject({ workspace: z.string(), user: z.string() }),
  from: z.looseObject({ url: z.string() }),
  turn: z.looseObject({
    number: z.number(),
    started: z.number(),
    iterations: z.number(),
    spent_ms: z.number(),
    cost: z.number(),
    trace: z.string(),
    seq: z.number(),
  }),
  totals: z.looseObject({ iterations: z.number(), tool_calls: z.number(), cost: z.number(), billed: z.number() }),
  counts: z.looseObject({ messages: z.int().min(0), steps: z.int().min(0) }),
  parent: z.looseObject({ task: z.string(), tool_call_id: z.string(), trace: z.string() }).nullable(),
  root: Id,
  depth: z.number(),
  descendants: z.number(),
  team_calls: z.number(),
  children: z.record(z.string(), z.string()),
  pending: z.array(z.string()),
  approved: z.array(z.string()),
  active: z.string().nullable(),
})

/** The settings of a stored agent, and of the turns of its tasks. */
export const AgentSettingsShape = z.looseObject({
  max_iterations: z.number(),
  max_execution_time: z.number(),
  max_cost: z.number(),
  evaluators: z.array(z.looseObject({ id: z.string() })),
  guardrails: z.array(z.looseObject({ id: z.string() })),
})
const Model = z.union([z.string(), z.looseObject({ model: z.string() })])
const TurnShape = z.looseObject({
  manifest: z.looseObject({
    _id: Id,
    key: z.string(),
    model: z.string(),
    instructions: z.string(),
    system: z.string(),
    parameters: z.looseObject({}),
    fallbacks: z.array(Model),
    tools: z.array(z.looseObject({ type: z.string(), id: z.string() })),
    memory_stores: z.array(z.string()),
    team_of_agents: z.array(z.looseObject({ key: z.string() })),
    settings: AgentSettingsShape,
  }),
  says: z.looseObject({ variables: z.looseObject({}), engine: z.string() }),
})

const MessageShape = z.looseObject({
  _id: Id,
  message: TaskMessage,
  filled: z.array(z.looseObject({ kind: z.string() })).optional(),
  turn: z.number(),
  iteration: z.number(),
  trace: z.string().nullable(),
})

/** The shapes by kind. */
export const TASK_SHAPES: Readonly<Record<string, z.ZodType>> = {
  [AGENT_TASK]: TaskShape,
  [AGENT_TURN]: TurnShape,
  [AGENT_COUNT]: z.looseObject({ tasks: z.int().min(0) }),
  [AGENT_MESSAGE]: MessageShape,
  [AGENT_STEP]: TaskStep,
}
