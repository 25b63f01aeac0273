// The parts of an agent's task to which rules of scenarios apply, by fault point.
import type { FaultPoint, FaultSubject } from './fault.ts'
import { TOOL_CALLS } from './fixture-subject.ts'

const TASK_PATH = '/v2/agents/:key/task'

/** Operation and path of a fault point of agents, and what rules apply to there. */
type AgentSubject = FaultSubject & { noun: string }

/** Those of each fault point of agents. */
export const AGENT_SUBJECTS = {
  tool: { name: TOOL_CALLS, path: TASK_PATH, noun: 'tool calls' },
  task: { name: 'agents.iterations', path: TASK_PATH, noun: 'task iterations' },
  approval: { name: 'agents.approvals', path: '/_understudy/tasks/:task_id/:decision', noun: 'tool approvals' },
  cancel: {
    name: 'agents.cancellations',
    path: '/v2/agents/:key/tasks/:task_id/cancel',
    noun: 'calls of canceled tasks',
  },
} as const satisfies Partial<Record<FaultPoint, AgentSubject>>

/** The same for any point; undefined if it is not one of agents. */
export const agentSubject = (at: FaultPoint): AgentSubject | undefined =>
  (AGENT_SUBJECTS as Partial<Record<FaultPoint, AgentSubject>>)[at]
