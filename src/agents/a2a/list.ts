// ListTasks: the tasks of an agent, last changed first, in pages.
import { type ListTasksRequest, type ListTasksResponse, TaskState } from '@a2a-js/sdk'
import type { TaskRecord } from '../../contract/workspace/task-record.ts'
import { nextTurn } from '../../lib/bare-socket.ts'
import { quote } from '../../schema/validation.ts'
import type { AgentCall } from './call.ts'
import { malformed } from './errors.ts'
import { stateOf, taskShapeOf } from './shapes.ts'

const MAX_COUNT = 100
const USUAL = 50

/** Tasks that are read at once. */
const TOGETHER = 200

/**
 * A page of tasks.
 * @throws A2AError for an invalid page size or token
 */
export async function listedTasks(call: AgentCall, params: ListTasksRequest): Promise<ListTasksResponse> {
  const { pageSize = USUAL, pageToken, historyLength, includeArtifacts = false } = params
  if (!(Number.isInteger(pageSize) && pageSize >= 1 && pageSize <= MAX_COUNT))
    throw malformed(`'pageSize' must be a whole number from 1 to ${MAX_COUNT}, got ${pageSize}`)
  const matches = await matching(call, filterOf(params))
  const from = pageToken === '' ? undefined : placeOf(pageToken)
  const rest = from ? matches.filter((task) => task._id !== from._id && inOrder(from, task) < 0) : matches
  const page = rest.sort(inOrder).slice(0, pageSize)
  const last = page.at(-1)
  return {
    tasks: page.map(({ _id }) => {
      const { tasks, owner } = call
      const shape = taskShapeOf(tasks.get(owner, _id), historyLength ?? 0)
      return includeArtifacts ? shape : { ...shape, artifacts: [] }
    }),
    nextPageToken: last && page.length < rest.length ? `${last.updated}.${last._id}` : '',
    pageSize,
    totalSize: matches.length,
  }
}

/** A task of the list before rendering. */
interface ListedTask {
  _id: string
  /** Milliseconds since the epoch. */
  updated: number
}

/** Last changed first. */
const inOrder = (a: ListedTask, b: ListedTask): number => b.updated - a.updated || (a._id < b._id ? 1 : -1)

/** The end of the previous page, identified by its position, since a task may have changed meanwhile. */
function placeOf(pageToken: string): ListedTask {
  const [, updated, _id] = /^(\d+)\.(\w+)$/.exec(pageToken) ?? []
  if (updated === undefined || _id === undefined)
    throw malformed(`'pageToken' must be a 'nextPageToken' of this list, got ${quote(pageToken)}`)
  return { updated: Number(updated), _id }
}

/** All tasks that match, read in pages, so that a long list does not block others. */
async function matching(
  { tasks, owner, agent }: AgentCall,
  fits: (task: TaskRecord) => boolean,
): Promise<ListedTask[]> {
  const found: ListedTask[] = []
  for (let after: string | undefined; ; ) {
    const { data, hasMore } = tasks.page(owner, String(agent._id), { limit: TOGETHER, starting_after: after })
    for (const task of data) if (fits(task)) found.push({ _id: task._id, updated: Date.parse(task.updated) })
    after = data.at(-1)?._id
    if (!hasMore || after === undefined) return found
    await nextTurn()
  }
}

function filterOf({ contextId, status, statusTimestampAfter }: ListTasksRequest): (task: TaskRecord) => boolean {
  const after = statusTimestampAfter === undefined ? Number.NEGATIVE_INFINITY : Date.parse(statusTimestampAfter)
  if (Number.isNaN(after)) throw malformed(`'statusTimestampAfter' must be a time, got ${quote(statusTimestampAfter)}`)
  if (status === TaskState.UNRECOGNIZED) throw malformed("'status' must be a state such as TASK_STATE_WORKING")
  return (task) =>
    (contextId === '' || task.context_id === contextId) &&
    (status === TaskState.TASK_STATE_UNSPECIFIED || stateOf(task) === status) &&
    Date.parse(task.updated) >= after
}
