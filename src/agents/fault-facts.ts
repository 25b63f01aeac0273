// What scenarios know of the course of a task, of which no client is asked: its iterations, its tools, what is decided of them.
import type { FaultFacts } from '../contract/fault.ts'
import type { Session } from '../sessions/session.ts'
import type { AgentTaskRecord } from './manifest.ts'

/** What faults may know of the task behind a call. */
export const agentFacts = ({ task }: { task: AgentTaskRecord }, iteration: number) => ({
  agent: task.agent_key,
  task: task._id,
  iteration,
})

/** What happens to a task, and in which iteration; `key` tells it apart from all else in that. */
interface TaskMoment extends Pick<FaultFacts, 'at' | 'operation' | 'request' | 'tool'> {
  iteration: number
  key: string
}

/** The facts by which rules are matched with something that happens to a task. */
export const taskFacts = (
  { session, task }: { session: Session; task: AgentTaskRecord },
  { iteration, key, ...moment }: TaskMoment,
): FaultFacts => ({
  ...moment,
  model: '',
  stream: false,
  position: 0,
  attempt: 1,
  headers: new Headers(),
  identity: task.says.identity?.id,
  thread: task.says.thread?.id,
  inner: true,
  text: '',
  agent: agentFacts({ task }, iteration),
  point: task.turn.point,
  key: `${task._id}:${task.turn.number}:${key}`,
  passed: session.clock.passed(),
})
