// What happens in the course of an agent's task, as rules of scenarios name it: by where they act on it.
import type { FaultPoint, FaultSubject } from './fault.ts'
import { TOOL_CALLS } from './fixture-subject.ts'

const TASK_PATH = '/v2/agents/:key/task'

/** The operation and the path of what rules meet at the points of agents. */
export const AGENT_SUBJECTS = {
  tool: { name: TOOL_CALLS, path: TASK_PATH },
  task: { name: 'agents.iterations', path: TASK_PATH },
  approval: { name: 'agents.approvals', path: '/_understudy/tasks/:task_id/:decision' },
  cancel: { name: 'agents.cancellations', path: '/v2/agents/:key/tasks/:task_id/cancel' },
} as const satisfies Partial<Record<FaultPoint, FaultSubject>>

/** The same by any point; undefined at those that are not of agents. */
export const agentSubject = (at: FaultPoint): { name: string; path: string } | undefined =>
  (AGENT_SUBJECTS as Partial<Record<FaultPoint, { name: string; path: string }>>)[at]
