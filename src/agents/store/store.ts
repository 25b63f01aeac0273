// Tasks in the records of a session: how they are read, and how a step is written.

import { ApiError } from '../../contract/core/error.ts'
import type { SequenceUse } from '../../contract/core/sequence.ts'
import type { TaskStep } from '../../contract/core/trace.ts'
import type { TaskMessage, TaskPart } from '../../contract/workspace/agent-task.ts'
import type { Caller, Fields } from '../../contract/workspace/record.ts'
import {
  AGENT_COUNT,
  AGENT_MESSAGE,
  AGENT_STEP,
  AGENT_TASK,
  AGENT_TURN,
  type MessageRecord,
  type TaskRecord,
} from '../../contract/workspace/task-record.ts'
import { isActive } from '../../contract/workspace/task-state.ts'
import { damagedRow, readableRow } from '../../db/damaged-rows.ts'
import type { PageFilter } from '../../db/record-store.ts'
import { ulidOf } from '../../lib/ids.ts'
import { agents } from '../../resources/agents.ts'
import { recordIn } from '../../resources/define.ts'
import { quote } from '../../schema/validation.ts'
import type { Session } from '../../sessions/sessions.ts'
import type { AgentTaskRecord } from './manifest.ts'

/** The location of tasks: a session and a workspace in it. */
export interface TaskPlace {
  session: Session
  workspace: string
}

/** The owner of tasks. */
export interface TaskOwner {
  session: Session
  caller: Caller
}

/** The location of an owner's tasks. */
export const placeOf = ({ session, caller }: TaskOwner): TaskPlace => ({ session, workspace: caller.workspace })

/**
 * An agent by its key or id.
 * @throws ApiError 404 if there is none
 */
export const agentOf = ({ session: { records }, caller }: TaskOwner, name: string): Fields =>
  recordIn(agents, { records, caller }, { parent: '', name })

/** A task with all its messages. */
export interface WholeTask {
  task: AgentTaskRecord
  history: readonly MessageRecord[]
}

/**
 * The 404 for an unknown task.
 * @example
 * taskNotFound('17').status // => 404
 * taskNotFound('17').param // => 'task_id'
 */
export const taskNotFound = (id: string, param = 'task_id'): ApiError =>
  new ApiError(404, 'task_not_found', `Task not found: no task has the id ${quote(id)} in this workspace`, {
    param,
  })

/**
 * The data of a turn that does not change during it. It may be large, so it is written once per turn and not with every
 * step.
 */
type TurnBasis = Pick<AgentTaskRecord, 'manifest' | 'says'>

const basisId = (task: string) => `${task}:turn`
const withBasis = ({ session, workspace }: TaskPlace, body: Fields): AgentTaskRecord => {
  const basis = session.records.get(AGENT_TURN, workspace, basisId(String(body._id)))
  const task = { ...basis?.body, ...body } as unknown as AgentTaskRecord
  if (task.manifest === undefined || task.says === undefined) {
    const place = { table: 'records', row: String(body._id) }
    throw damagedRow({ name: 'the database of the session' }, place, new Error('the state of its turn was lost'))
  }
  return task
}

/** A task by its id, with the data of its turn if known; undefined if there is none. */
export function findTask(place: TaskPlace, id: string, known?: TurnBasis): AgentTaskRecord | undefined {
  const body = place.session.records.get(AGENT_TASK, place.workspace, id)?.body
  if (!body) return undefined
  return known ? ({ manifest: known.manifest, says: known.says, ...body } as AgentTaskRecord) : withBasis(place, body)
}

/**
 * A task by its id.
 * @throws ApiError 404 if there is none
 */
export function taskOf(place: TaskPlace, id: string): AgentTaskRecord {
  const found = findTask(place, id)
  if (!found) throw taskNotFound(id)
  return found
}

/**
 * The task, if it is one of the agent's.
 * @throws ApiError 404 otherwise
 */
export function ofAgent<Found extends { task: AgentTaskRecord }>({ _id }: Fields, found: Found): Found {
  if (found.task.agent_id !== _id) throw taskNotFound(found.task._id)
  return found
}

const inTask =
  (kind: string) =>
  ({ session, workspace }: TaskPlace, id: string) =>
    session.records.page({ kind, workspace, parent: id }).data.reverse()

/** The messages of a task, oldest first. */
export const messagesOf = inTask(AGENT_MESSAGE) as unknown as (place: TaskPlace, id: string) => MessageRecord[]
/** The journal of a task, oldest first. */
export const journalOf = inTask(AGENT_STEP) as unknown as (place: TaskPlace, id: string) => TaskStep[]

/** Every task of a session to continue, oldest first. */
export const activeTasks = (session: Session): AgentTaskRecord[] =>
  session.records
    .keyed(AGENT_TASK)
    .flatMap(({ workspace, body }) => readableRow(() => withBasis({ session, workspace }, body)))

/**
 * A page of an agent's tasks, newest first, without the data of their turns.
 * @throws ApiError 404 for an unknown cursor
 */
export function taskPage(
  place: TaskPlace,
  agent: string,
  page: Pick<PageFilter, 'limit' | 'after' | 'before'>,
): { data: TaskRecord[]; hasMore: boolean } {
  const { records } = place.session
  const filter = { kind: AGENT_TASK, workspace: place.workspace, parent: agent }
  for (const [param, id] of Object.entries({ starting_after: page.after, ending_before: page.before }))
    if (id !== undefined && !records.inList(filter, id)) throw taskNotFound(id, param)
  const { data, hasMore } = records.page({ ...filter, ...page })
  return { data: data as unknown as TaskRecord[], hasMore }
}

/** Tasks with the data of their turns. */
export const wholeTasks = (place: TaskPlace, tasks: readonly TaskRecord[]): AgentTaskRecord[] =>
  tasks.flatMap((task) => readableRow(() => withBasis(place, { ...task })))

/** The number of an agent's next client task: 1, 2, ... Call it inside a transaction. */
export function nextTaskNumber({ session: { records }, workspace }: TaskPlace, agent: string): number {
  const id = `${agent}:tasks`
  const before = records.get(AGENT_COUNT, workspace, id)?.body
  const body = { tasks: Number(before?.tasks ?? 0) + 1 }
  if (before) records.update(id, { key: null, body })
  else records.insert({ seq: records.nextNumber(), kind: AGENT_COUNT, id, workspace, parent: agent, key: null, body })
  return body.tasks
}

/** A message that a step adds. */
export interface NewMessage extends Pick<TaskMessage, 'role' | 'parts'> {
  messageId?: string | undefined
  filled?: TaskPart[] | undefined
  trace?: string | null
}

/** What a step writes: changes of the task, new messages, and journal entries. */
export interface TaskChange {
  task?: Partial<AgentTaskRecord>
  messages?: readonly NewMessage[]
  steps?: readonly TaskStep[]
  /** Its positions in sequences of fixtures. */
  used?: readonly SequenceUse[]
}

/** A written task, and the added messages. */
export interface WrittenTask {
  task: AgentTaskRecord
  messages: MessageRecord[]
}

/** Writes a step of a task, or a new task. Call it inside a transaction. */
export function writeChange(
  { session, workspace }: TaskPlace,
  before: AgentTaskRecord,
  { task: changes = {}, messages = [], steps = [], used = [] }: TaskChange,
): WrittenTask {
  const { records } = session
  session.sequences.write(used)
  const now = session.clock.now()
  const counts = {
    messages: before.counts.messages + messages.length,
    steps: before.counts.steps + steps.length,
  }
  const task = { ...before, ...changes, counts, updated: new Date(now).toISOString() }
  task.active = isActive(task.state) ? task._id : null
  const { manifest, says, ...body } = task
  const insert = (kind: string, id: string, fields: object) =>
    records.insert({ seq: records.nextNumber(), kind, id, workspace, parent: task._id, key: null, body: { ...fields } })
  // A task starts with a message.
  if (before.counts.messages > 0) {
    records.update(task._id, { key: task.active, body })
    if (changes.manifest ?? changes.says) records.update(basisId(task._id), { key: null, body: { manifest, says } })
  } else {
    const place = { kind: AGENT_TASK, id: task._id, workspace, parent: task.agent_id }
    records.insert({ seq: records.nextNumber(), ...place, key: task.active, body })
    insert(AGENT_TURN, basisId(task._id), { manifest, says })
  }
  const added = messages.map(({ role, parts, messageId, filled, trace = null }, index): MessageRecord => {
    const number = before.counts.messages + index
    const own = () => ulidOf(session.seed, now, `${session.name}:agent_message:${task._id}`, number)
    const about = { taskId: task._id, contextId: task.context_id }
    return {
      _id: `${task._id}:message:${number}`,
      message: { kind: 'message', messageId: messageId ?? own(), role, parts, ...about },
      ...(filled && { filled }),
      turn: task.turn.number,
      iteration: task.turn.iterations,
      trace,
    }
  })
  for (const message of added) insert(AGENT_MESSAGE, message._id, message)
  for (const [index, step] of steps.entries())
    insert(AGENT_STEP, `${task._id}:step:${before.counts.steps + index}`, step)
  return { task, messages: added }
}
