// Faults of the active scenario in a task: its iterations and tools, decisions about these, and calls in flight at a
// cancellation.
import { AGENT_SUBJECTS } from '../../contract/core/agent-subjects.ts'
import type { FaultFacts, FaultPassage } from '../../contract/core/fault.ts'
import { valueReply } from '../../contract/core/reply.ts'
import { withoutLatency } from '../../lib/clock.ts'
import type { Deadline } from '../../lib/deadline.ts'
import { agentFacts } from '../store/manifest.ts'
import { journalStep } from '../store/turn-trace.ts'
import { commitStep, type Turn, type TurnDeps } from './turn.ts'

/** The affected task. */
type FaultyTask = Pick<Turn, 'session' | 'task'> & { deps: Pick<TurnDeps, 'gateway'> }

/** The facts about an event of a task. */
interface TaskMoment extends Pick<FaultFacts, 'tool'> {
  at: keyof typeof AGENT_SUBJECTS
  iteration: number
  /** Unique within the turn. */
  key: string
  /** The arguments of a tool call. */
  request?: unknown
}

/** A task's scenario, and how its events go through it; undefined if there is none. */
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
    agent: agentFacts(task, iteration),
    ...(tool && { tool }),
    point: task.turn.point,
    key: `${task._id}:${task.turn.number}:${key}`,
  }
  return { run, facts, clock: withoutLatency(session.clock) }
}

/**
 * The result of `next` through the faults of a task's event. Rejects as `next` does, and with the reason of the signal.
 */
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

/** Runs an iteration, which a fault may block forever. The turn's time limit stops while it is blocked. */
export function throughIterationFaults(turn: Turn, deadline: Deadline, next: () => Promise<void>): Promise<void> {
  const { session, task, signal } = turn
  const { iterations } = task.turn
  const iteration = iterations + 1
  const onTriggered = (rule: string) => {
    deadline.hold()
    const step = journalStep(turn, session.clock.now(), {
      ...{ kind: 'wait', name: 'nothing', outcome: 'waiting' },
      iteration,
      faults: [rule],
    })
    // A turn that has ended meanwhile has nothing to note.
    commitStep(turn, () => ({ steps: [step] })).catch(() => {})
  }
  const moment = { at: 'task', iteration, key: `${iterations}:iteration` } as const
  return throughTaskFaults(turn, { ...moment, signal, onTriggered }, next)
}

/** The faults of a task's event; undefined if there are none. */
export function taskFaults(task: FaultyTask, moment: TaskMoment) {
  const scenario = scenarioOf(task, moment)
  return scenario?.run.faults(scenario.clock, scenario.facts)
}
