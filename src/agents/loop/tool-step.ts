// The step that runs tools: the results of their calls, and the changes of the task.
import { ApiError } from '../../contract/core/error.ts'
import type { CallSequences, SequenceUse } from '../../contract/core/sequence.ts'
import { quote } from '../../schema/validation.ts'
import type { AgentFunction, EarlyOutcome } from '../store/manifest.ts'
import { rawArguments, type ToolCallPart } from '../store/messages.ts'
import { findTask } from '../store/store.ts'
import { journalStep } from '../store/turn-trace.ts'
import type { ToolContext, ToolKind, ToolResult } from '../tools/define.ts'
import { runTool } from '../tools/run.ts'
import { toolNames } from '../tools/stored.ts'
import { awaitCall, type CallUnderWay } from './in-flight.ts'
import { throughTaskFaults } from './task-faults.ts'
import { commitStep, type Turn, type TurnChange } from './turn.ts'

/** The result of a tool call, and its positions in sequences of fixtures. */
interface ToolOutcome extends EarlyOutcome {
  used: readonly SequenceUse[]
}
/** The same for a stored result, whose positions are committed already. */
type KeptOutcome = EarlyOutcome & Partial<ToolOutcome>

/** Runs all calls of one message at once, and commits each result as soon as those before it are committed. */
export async function runTools(turn: Turn, calls: readonly ToolCallPart[]): Promise<void> {
  const { session, deps } = turn
  let next = 0
  const running = calls.map(async (part, index) => {
    const { tool_call_id } = part
    const kept = turn.task.early?.[tool_call_id]
    if (kept) return kept
    const started = session.clock.now()
    const entry = turn.offered.get(part.tool_name)?.entry
    const call: CallUnderWay<ToolOutcome> = {
      ...{ key: `tool:${tool_call_id}`, iteration: turn.task.turn.iterations, part },
      tool: entry ? toolNames({ name: part.tool_name, entry }) : [part.tool_name],
      make: (signal) => outcomeOf(turn, part, { signal, started }),
      change: (outcome) => resultChange(part, outcome),
    }
    deps.events.notify(session, { type: 'tool-started', task: turn.task, call: part })
    const { used, ...outcome } = await awaitCall(turn, call)
    // A call whose result is stored is not made again, even by a later process.
    if (index > next && !('pending' in outcome.result))
      await commitStep(turn, ({ early }) => ({ task: { early: { ...early, [tool_call_id]: outcome } }, used }))
    return { used, ...outcome }
  })
  // Calls after a failure are ignored.
  for (const one of running) one.catch(() => {})
  for (const [index, part] of calls.entries()) {
    const outcome = await running[index]
    if (!outcome) continue
    if ('pending' in outcome.result) turn.waiting.add(part.tool_call_id)
    else await commitStep(turn, resultChange(part, outcome))
    next = index + 1
  }
}

/** The stored results without one of them. */
const without = (early: Turn['task']['early'], id: string): Turn['task']['early'] => {
  const { [id]: _, ...others } = early ?? {}
  return others
}

/** The change of a task by a result; none while its sub-task waits. */
function resultChange({ tool_call_id }: ToolCallPart, { result, step, used }: KeptOutcome): TurnChange {
  return ({ totals, early }) => {
    if ('pending' in result) return {}
    const shown = 'error' in result ? { error: result.error } : result.result
    return {
      used,
      task: {
        totals: { ...totals, tool_calls: totals.tool_calls + 1 },
        ...(early?.[tool_call_id] && { early: without(early, tool_call_id) }),
      },
      messages: [{ role: 'tool', parts: [{ kind: 'tool_result', tool_call_id, result: shown }] }],
      steps: [step],
    }
  }
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
    outcome: failed ? 'failed' : 'succeeded',
    error: failed ? result.error : null,
    ...('fixture' in result && { fixture: result.fixture }),
    ...(faults.length > 0 && { faults }),
    task: subTask?._id ?? null,
    trace: subTask?.turn.trace ?? null,
    cost: subTask?.totals.cost ?? null,
  })
  return { result, step, used: sequences.used }
}

/** The result of a call. Errors are reported to the model, which may correct them. */
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
  const call = { name: part.tool_name, id: part.tool_call_id, arguments: part.arguments, entry: tool.entry }
  const context: ToolContext = {
    session,
    caller: task.caller,
    sequences,
    task: { id: task._id },
    agent: task.manifest,
    memory: task.says.memory,
    iteration: task.turn.iterations,
    signal,
    fixtures: deps.fixtures,
    knowledge: deps.gateway.knowledge,
    delegate: (agent, message, of) => deps.delegate(turn, { agent, message, call: of }),
  }
  const throughFaults: ToolKind['run'] = (faultedCall, within) => {
    const moment = { request: faultedCall.arguments, tool: toolNames(faultedCall), iteration: within.iteration }
    const passage = { signal: within.signal, onTriggered: (rule: string) => faults.push(rule) }
    const key = `${within.iteration}:${faultedCall.id}`
    return throughTaskFaults(turn, { at: 'tool', key, ...moment, ...passage }, () => run(faultedCall, within))
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
