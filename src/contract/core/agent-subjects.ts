// Names of the parts of an agent's task to which rules of scenarios apply, by fault point.
import type { FaultPoint, FaultSubject } from './fault.ts'
import { TOOL_CALLS } from './fixture-subject.ts'

const TASK_PATH = '/v2/agents/:key/task'

/** Operation and path of the fault points of agents. */
export const AGENT_SUBJECTS = {
  tool: { name: TOOL_CALLS, path: TASK_PATH },
  task: { name: 'agents.iterations', path: TASK_PATH },
  approval: { name: 'agents.approvals', path: '/_understudy/tasks/:task_id/:decision' },
  cancel: { name: 'agents.cancellations', path: '/v2/agents/:key/tasks/:task_id/cancel' },
} as const satisfies Partial<Record<FaultPoint, FaultSubject>>

/** The same for any point; undefined if it is not one of agents. */
export const agentSubject = (at: FaultPoint): { name: string; path: string } | undefined =>
  (AGENT_SUBJECTS as Partial<Record<FaultPoint, { name: string; path: string }>>)[at]
