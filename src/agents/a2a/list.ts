// ListTasks: the tasks of an agent, last changed first, a page at a time.
import { type ListTasksRequest, type ListTasksResponse, TaskState } from '@a2a-js/sdk'
import { quote } from '../../contract/validation.ts'
import type { AgentTaskRecord } from '../manifest.ts'
import type { AgentCall } from './call.ts'
import { malformed } from './errors.ts'
import { stateOf, taskShapeOf } from './shapes.ts'

const MOST = 100
const USUAL = 50

/** The page of tasks that a client asks for. */
export function listedTasks({ tasks, owner, agent }: AgentCall, params: ListTasksRequest): ListTasksResponse {
  const { pageSize = USUAL, pageToken, historyLength, includeArtifacts = false } = params
  if (!(Number.isInteger(pageSize) && pageSize >= 1 && pageSize <= MOST))
    throw malformed(`'pageSize' must be a whole number from 1 to ${MOST}, got ${pageSize}`)
  const all = tasks.list(owner, String(agent._id), { limit: Number.MAX_SAFE_INTEGER }).data
  const wanted = all.filter(filterOf(params)).sort((a, b) => Date.parse(b.updated) - Date.parse(a.updated))
  const last = pageToken === '' ? -1 : wanted.findIndex(({ _id }) => _id === pageToken)
  if (pageToken !== '' && last < 0)
    throw malformed(`'pageToken' must be a 'nextPageToken' of this list, got ${quote(pageToken)}`)
  const page = wanted.slice(last + 1, last + 1 + pageSize)
  const more = last + 1 + pageSize < wanted.length
  return {
    tasks: page.map(({ _id }) => {
      const shape = taskShapeOf(tasks.get(owner, _id), historyLength ?? 0)
      return includeArtifacts ? shape : { ...shape, artifacts: [] }
    }),
    nextPageToken: more ? (page.at(-1)?._id ?? '') : '',
    pageSize,
    totalSize: wanted.length,
  }
}

function filterOf({ contextId, status, statusTimestampAfter }: ListTasksRequest): (task: AgentTaskRecord) => boolean {
  const after = statusTimestampAfter === undefined ? Number.NEGATIVE_INFINITY : Date.parse(statusTimestampAfter)
  if (Number.isNaN(after)) throw malformed(`'statusTimestampAfter' must be a time, got ${quote(statusTimestampAfter)}`)
  if (status === TaskState.UNRECOGNIZED) throw malformed("'status' must be a state such as TASK_STATE_WORKING")
  return (task) =>
    (contextId === '' || task.context_id === contextId) &&
    (status === TaskState.TASK_STATE_UNSPECIFIED || stateOf(task) === status) &&
    Date.parse(task.updated) >= after
}
