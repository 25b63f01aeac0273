// What the active scenario does to a task: to its iterations and its tools, to decisions about these, to what a cancellation interrupts.
import { AGENT_SUBJECTS } from '../../contract/core/agent-subjects.ts'
import type { FaultFacts, FaultPassage } from '../../contract/core/fault.ts'
import { valueReply } from '../../contract/core/reply.ts'
import { withoutLatency } from '../../lib/clock.ts'
import type { Session } from '../../sessions/session.ts'
import type { AgentTaskRecord } from '../store/manifest.ts'
import type { TurnDeps } from './turn.ts'

/** The task that something happens to. */
interface FaultyTask {
  session: Session
  task: AgentTaskRecord
  deps: Pick<TurnDeps, 'gateway'>
}

/** What happens to a task. */
interface TaskMoment extends Pick<FaultFacts, 'tool'> {
  at: keyof typeof AGENT_SUBJECTS
  iteration: number
  /** Tells it apart from all else in its turn. */
  key: string
  /** The arguments of a call of a tool. */
  request?: unknown
}

/** What faults may know of the task behind a call. */
export const agentFacts = ({ task }: Pick<FaultyTask, 'task'>, iteration: number) => ({
  agent: task.agent_key,
  task: task._id,
  iteration,
})

/** The scenario that a task is under, and how something that happens to the task goes through it; undefined when there is none. */
function scenarioOf({ session, task, deps }: FaultyTask, { at, iteration, key, request = {}, tool }: TaskMoment) {
  const run = deps.gateway.runs.ofCall(session, task.from.scenario)
  if (!run) return undefined
  const facts: FaultFacts = {
    at,
    operation: AGENT_SUBJECTS[at],
    request,
    ...{ model: '', stream: false, position: 0, attempt: 1, headers: new Headers() },
    identity: task.says.identity?.id,
    thread: task.says.thread?.id,
    inner: true,
    text: '',
    agent: agentFacts({ task }, iteration),
    ...(tool && { tool }),
    point: task.turn.point,
    key: `${task._id}:${task.turn.number}:${key}`,
  }
  return { run, facts, clock: withoutLatency(session.clock) }
}

/** What `next` gives, through the faults on something that happens to a task. Rejects as `next` does, and with the reason of the signal. */
export async function throughTaskFaults<Result>(
  task: FaultyTask,
  { signal, onTriggered, ...moment }: TaskMoment & Pick<FaultPassage, 'signal' | 'onTriggered'>,
  next: () => Promise<Result>,
): Promise<Result> {
  const scenario = scenarioOf(task, moment)
  if (!scenario) return next()
  const { run, facts, clock } = scenario
  const { body } = await run.through(facts, { clock, signal, onTriggered }, async () => valueReply(await next()))
  return (body as { value: Result }).value
}

/** The faults on something that happens to a task; undefined when there are none. */
export function taskFaults(task: FaultyTask, moment: TaskMoment) {
  const scenario = scenarioOf(task, moment)
  return scenario?.run.faults(scenario.clock, scenario.facts)
}
