// The step in which tools are run: all calls of one message at once, their results committed in the order of the calls.
import { ApiError } from '../contract/error.ts'
import type { CallSequences, SequenceUse } from '../contract/sequence.ts'
import type { TaskStep } from '../contract/trace.ts'
import { quote } from '../contract/validation.ts'
import type { AgentFunction, EarlyOutcome } from './manifest.ts'
import { rawArguments, type ToolCallPart } from './messages.ts'
import type { CallStanding } from './next-step.ts'
import { findTask } from './store.ts'
import { throughTaskFaults } from './task-faults.ts'
import type { ToolContext, ToolKind, ToolResult } from './tools/define.ts'
import { toolNames } from './tools/record.ts'
import { runTool } from './tools/run.ts'
import { journalStep, type Turn } from './turn.ts'
import { underWay } from './under-way.ts'

/** What can be done with a call that has no result. */
export function standingOf({ task, offered, waiting, session }: Turn, call: ToolCallPart): CallStanding {
  const tool = offered.get(call.tool_name)
  // The model is told that there is no such tool.
  if (!tool) return 'run'
  const asked = session.approvals !== 'auto' && needsApproval(task.manifest.settings.tool_approval_required, tool)
  if (asked && !task.approved.includes(call.tool_call_id)) return 'approval'
  if (!tool.kind.run) return 'client'
  return waiting.has(call.tool_call_id) ? 'sub_task' : 'run'
}

const needsApproval = (required: 'all' | 'respect_tool' | 'none', { entry }: AgentFunction): boolean =>
  required === 'all' || (required === 'respect_tool' && entry.requires_approval)

/** Runs some calls and commits each result as soon as those before it are committed. */
export async function runTools(turn: Turn, calls: readonly ToolCallPart[]): Promise<void> {
  let next = 0
  const running = calls.map(async (call, index) => {
    const outcome = turn.task.early?.[call.tool_call_id] ?? (await runOne(turn, call))
    // One whose result is kept is not made again, whatever becomes of this process and of those before it.
    if (index > next && !('pending' in outcome.result)) await keepEarly(turn, call, outcome)
    return outcome
  })
  // Nobody listens to those that come after a failure.
  for (const one of running) one.catch(() => {})
  for (const [index, one] of running.entries()) {
    const { result, ...rest } = await one
    const call = calls[index]
    if (!call) continue
    if ('pending' in result) turn.waiting.add(call.tool_call_id)
    else await turn.commit((task) => resultChange(task, call, { result, ...rest }))
    next = index + 1
  }
}

interface ToolOutcome extends EarlyOutcome {
  used: readonly SequenceUse[]
}

const keepEarly = (
  turn: Turn,
  { tool_call_id }: ToolCallPart,
  { used, result, step }: Partial<ToolOutcome> & EarlyOutcome,
) => turn.commit(({ early }) => ({ task: { early: { ...early, [tool_call_id]: { result, step } } }, used }))

/** What was kept, less one of it. */
const without = (early: Turn['task']['early'], id: string): Turn['task']['early'] => {
  const { [id]: _, ...others } = early ?? {}
  return others
}

const resultChange = (
  { totals, early }: Turn['task'],
  { tool_call_id }: ToolCallPart,
  {
    result,
    step,
    used,
  }: { result: Exclude<ToolResult, { pending: unknown }>; step: TaskStep; used?: readonly SequenceUse[] },
) => ({
  used,
  task: {
    totals: { ...totals, tool_calls: totals.tool_calls + 1 },
    ...(early?.[tool_call_id] && { early: without(early, tool_call_id) }),
  },
  messages: [
    {
      role: 'tool' as const,
      parts: [
        {
          kind: 'tool_result' as const,
          tool_call_id,
          result: 'error' in result ? { error: result.error } : result.result,
        },
      ],
    },
  ],
  steps: [step],
})

async function runOne(turn: Turn, part: ToolCallPart): Promise<ToolOutcome> {
  const { session, offered, task } = turn
  const started = session.clock.now()
  const { tool_name: name, tool_call_id } = part
  turn.deps.events.notify(session, { type: 'tool-started', task: turn.task, call: part })
  const entry = offered.get(name)?.entry
  return underWay(turn, {
    ...{ key: `tool:${tool_call_id}`, iteration: task.turn.iterations, part },
    tool: entry ? toolNames({ name, entry }) : [name],
    make: (signal) => outcomeOf(turn, part, { signal, started }),
    change:
      ({ result, ...rest }) =>
      (now) =>
        'pending' in result ? {} : resultChange(now, part, { result, ...rest }),
  })
}

async function outcomeOf(
  turn: Turn,
  part: ToolCallPart,
  { signal, started }: { signal: AbortSignal; started: number },
): Promise<ToolOutcome> {
  const { tool_name: name, tool_call_id } = part
  const faults: string[] = []
  const sequences = turn.session.sequences.begin(`tool:${tool_call_id}`)
  const result = await resultOf(turn, part, { signal, faults, sequences })
  const failed = 'error' in result
  const child = findTask(turn.place, turn.task._id)?.children[tool_call_id]
  const subTask = child === undefined ? undefined : findTask(turn.place, child)
  const step = journalStep(turn, started, {
    kind: subTask ? 'task' : 'tool',
    name: subTask?.agent_key ?? name,
    tool_call_id,
    outcome: failed ? 'failed' : 'answered',
    error: failed ? result.error : null,
    ...('fixture' in result && { fixture: result.fixture }),
    ...(faults.length > 0 && { faults }),
    task: subTask?._id ?? null,
    trace: subTask?.turn.trace ?? null,
    cost: subTask?.totals.cost ?? null,
  })
  return { result, step, used: sequences.used }
}

/** What a call comes to; what is wrong with it is told to the model, who may do better. */
async function resultOf(
  turn: Turn,
  part: ToolCallPart,
  { signal, faults, sequences }: { signal: AbortSignal; faults: string[]; sequences: CallSequences },
): Promise<ToolResult> {
  const { offered, task, session, deps } = turn
  const tool = offered.get(part.tool_name)
  const run = tool?.kind.run
  if (!run) return { error: noSuchTool(part.tool_name, offered) }
  const raw = rawArguments(part)
  if (raw !== undefined) return { error: `the arguments must be a JSON object, got ${quote(raw)}` }
  const call = {
    name: part.tool_name,
    id: part.tool_call_id,
    arguments: part.arguments,
    entry: tool.entry,
  }
  const context: ToolContext = {
    session,
    caller: task.caller,
    sequences,
    task: { id: task._id, contextId: task.context_id },
    agent: task.manifest,
    memory: task.says.memory,
    iteration: task.turn.iterations,
    signal,
    fixtures: deps.fixtures,
    knowledge: deps.gateway.knowledge,
    delegate: (agent, message, of) => deps.delegate(turn, { agent, message, call: of }),
  }
  const throughFaults: ToolKind['run'] = (asked, within) => {
    const moment = { request: asked.arguments, tool: toolNames(asked), iteration: within.iteration }
    const passage = { signal: within.signal, onTriggered: (rule: string) => faults.push(rule) }
    const key = `${within.iteration}:${asked.id}`
    return throughTaskFaults(turn, { at: 'tool', key, ...moment, ...passage }, () => run(asked, within))
  }
  try {
    return await runTool({ ...tool, kind: { run: throughFaults } }, call, context)
  } catch (error) {
    if (signal.aborted || !(error instanceof ApiError)) throw error
    return { error: error.message }
  }
}

const noSuchTool = (name: string, offered: ReadonlyMap<string, AgentFunction>) =>
  `there is no tool ${JSON.stringify(name)}; there ${offered.size === 0 ? 'is none' : `are ${[...offered.keys()].join(', ')}`}`
