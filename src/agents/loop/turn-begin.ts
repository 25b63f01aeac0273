// The start of a turn: the new or continued task, its message and its trace, committed together.
import { ApiError } from '../../contract/core/error.ts'
import { callSiteOf, injectionPointKind } from '../../gateway/call-site.ts'
import { traceIdOf } from '../../gateway/record/recorder.ts'
import { ulidOf, uuidOf } from '../../lib/ids.ts'
import { once } from '../../lib/once.ts'
import { agents } from '../../resources/agents.ts'
import { recordOf } from '../../resources/define.ts'
import type { Session } from '../../sessions/sessions.ts'
import { commit } from '../store/commit.ts'
import type { TaskEvents } from '../store/events.ts'
import type { AgentTaskRecord } from '../store/manifest.ts'
import { openCalls, type ToolCallPart, toolResultsOf } from '../store/messages.ts'
import { findTask, nextTaskNumber, placeOf, type TaskChange, taskNotFound, writeChange } from '../store/store.ts'
import { journalStep, recordTurn, TASK_OPERATION } from '../store/turn-trace.ts'
import { checkInactive, type Submission, type TaskCall } from './submission.ts'
import { closing, noResult } from './turn-end.ts'

/** Commits the start of a turn, and returns the submitted task. */
export async function beginTurn(call: TaskCall, submission: Submission, events: TaskEvents): Promise<AgentTaskRecord> {
  const { session, caller, parent } = call
  const place = placeOf(call)
  const { before } = submission
  const request = JSON.stringify(call.body)
  // A rejected call has no number: otherwise others would wait for it among the calls in progress.
  const seqOf = once(() => session.nextCall())
  const begun = await commit(place, (task) => turnChange(call, submission, { task, seqOf }), {
    events,
    read() {
      const task = before ? unchanged(findTask(place, before.task._id), before.task) : newTask(call, submission)
      // It may have been deleted meanwhile, and its tasks with it.
      recordOf(agents, { records: session.records, caller }, task.agent_id)
      return task
    },
    also({ task }) {
      if (parent) addChild(parent, task, session)
      // In the same commit: a response names an existing trace.
      recordTurn(session, task, request)
    },
  })
  if (!begun) throw new Error('a turn began without a change')
  return begun
}

/** Another call may have continued the task meanwhile, or deleted it. */
function unchanged(current: AgentTaskRecord | undefined, before: AgentTaskRecord): AgentTaskRecord {
  if (!current) throw taskNotFound(before._id)
  checkInactive(current)
  if (current.counts.messages === before.counts.messages && current.turn.number === before.turn.number) return current
  const message = `the task ${before._id} was continued by another call: read it again`
  throw new ApiError(409, 'task_changed', message, { param: 'task_id' })
}

function newTask(call: TaskCall, { agent, manifest, options }: Submission): AgentTaskRecord {
  const { session, caller, from, parent, context } = call
  const now = session.clock.now()
  const { seed, name } = session
  const agentId = String(agent._id)
  // Independent of concurrent tasks: the id of a sub-task is a function of its tool call, others are counted by agent.
  const _id = parent
    ? ulidOf(seed, now, `${name}:agent_task:${parent.task._id}:${parent.tool_call_id}`, 0)
    : ulidOf(seed, now, `${name}:agent_task:${agentId}`, nextTaskNumber(placeOf(call), agentId))
  const at = new Date(now).toISOString()
  return {
    _id,
    workspace_id: caller.workspace,
    context_id: parent?.task.context_id ?? context ?? uuidOf(`${seed}:${name}:context:${_id}`),
    agent_id: agentId,
    agent_key: String(agent.key),
    state: 'submitted',
    finish_reason: null,
    error: null,
    created: at,
    updated: at,
    caller,
    from,
    says: options,
    manifest,
    turn: { number: 0, started: now, iterations: 0, spent_ms: 0, cost: 0, trace: '', seq: 0 },
    totals: { iterations: 0, tool_calls: 0, cost: 0, billed: 0 },
    counts: { messages: 0, steps: 0 },
    parent: parent ? { task: parent.task._id, tool_call_id: parent.tool_call_id, trace: parent.task.turn.trace } : null,
    root: parent?.task.root ?? _id,
    depth: parent ? parent.task.depth + 1 : 0,
    descendants: 0,
    team_calls: 0,
    children: {},
    pending: [],
    approved: [],
    active: _id,
  }
}

/** The change by the call: the turn, the message, and the end of unanswered calls. */
function turnChange(
  { session, from, parent }: TaskCall,
  submission: Submission,
  { task, seqOf }: { task: AgentTaskRecord; seqOf(): number },
): TaskChange {
  const { message, options, manifest, before } = submission
  const started = session.clock.now()
  const ofUser = message.role === 'user'
  const open = openCalls((before?.history ?? []).map((one) => one.message))
  const answered = new Set(toolResultsOf(message).map(({ tool_call_id }) => tool_call_id))
  const used = ofUser ? { iterations: 0, spent_ms: 0, cost: 0 } : task.turn
  const number = task.turn.number + 1
  const point =
    parent?.task.turn.point ?? callSiteOf(session, injectionPointKind(TASK_OPERATION, `${task.agent_key}\n${number}`))
  const seq = seqOf()
  // The id of the trace is a function of its task, independent of concurrent calls.
  const trace = traceIdOf(session, { started, seq, key: `${task._id}:${number}` })
  const turn = { ...used, number, started, seq, trace, point }
  const stepFor = (call: ToolCallPart, error: string | null) => ({
    ...journalStep({ task: { ...task, turn }, session }, Date.parse(task.updated), {
      kind: 'tool',
      name: call.tool_name,
      tool_call_id: call.tool_call_id,
      outcome: error === null ? 'succeeded' : 'failed',
      error,
    }),
    iteration: task.turn.iterations,
  })
  const closed = ofUser ? open : []
  const why = noResult('stop')
  return {
    task: {
      state: 'submitted',
      finish_reason: null,
      error: null,
      from,
      says: options,
      manifest,
      agent_key: String(submission.agent.key),
      turn,
      totals: { ...task.totals, tool_calls: task.totals.tool_calls + answered.size },
      pending: ofUser ? [] : task.pending.filter((id) => !answered.has(id)),
      ...(ofUser && { descendants: 0, team_calls: 0 }),
    },
    messages: [...closed.map((call) => closing(call, why)), message],
    steps: [
      ...open.filter((call) => answered.has(call.tool_call_id)).map((call) => stepFor(call, null)),
      ...closed.map((call) => stepFor(call, why)),
    ],
  }
}

/** Adds a sub-task to its parent, and counts it with the root task. */
function addChild({ task, tool_call_id }: NonNullable<TaskCall['parent']>, child: AgentTaskRecord, session: Session) {
  const place = { session, workspace: task.workspace_id }
  const parent = findTask(place, task._id)
  if (!parent) return
  const children = { ...parent.children, [tool_call_id]: child._id }
  const own = parent.root === parent._id ? 1 : 0
  writeChange(place, parent, { task: { children, descendants: parent.descendants + own } })
  const root = own ? undefined : findTask(place, parent.root)
  if (root) writeChange(place, root, { task: { descendants: root.descendants + 1 } })
}
