// What the scenario that is played does to the course of a task: to its iterations, and to what is decided about its tools.
import type { FaultFacts, NextReply } from '../contract/fault.ts'
import { toolReply } from '../faults/define.ts'
import type { Deadline } from '../lib/deadline.ts'
import type { Session } from '../sessions/sessions.ts'
import type { AgentTaskRecord } from './manifest.ts'
import { agentFacts } from './model-step.ts'
import { journalStep, type Turn, type TurnDeps } from './turn.ts'

const SUBJECTS = {
  task: { name: 'agents.iterations', path: '/v2/agents/:key/task' },
  approval: { name: 'agents.approvals', path: '/_understudy/tasks/:task_id/:decision' },
} as const

/** What a scenario may do something to. */
interface Course {
  at: keyof typeof SUBJECTS
  session: Session
  task: AgentTaskRecord
  deps: Pick<TurnDeps, 'gateway'>
  /** Tells it apart from the others of its task. */
  key: string
  signal: AbortSignal
  /** Is told the rule whose fault acts. */
  onActed(rule: string): void
}

async function throughFaults({ at, session, task, deps, ...course }: Course, next: () => Promise<void>): Promise<void> {
  const playing = deps.gateway.runs.ofCall(session, task.from.scenario)
  if (!playing) return next()
  const about = { operation: SUBJECTS[at], request: {}, model: '', stream: false }
  const facts: FaultFacts = {
    ...about,
    at,
    position: 0,
    attempt: 1,
    headers: new Headers(),
    identity: task.says.identity?.id,
    thread: task.says.thread?.id,
    inner: true,
    text: '',
    agent: agentFacts({ task }, task.turn.iterations + (at === 'task' ? 1 : 0)),
    key: `${task._id}:${task.turn.number}:${task.turn.iterations}:${course.key}`,
    now: session.clock.now(),
  }
  const answer: NextReply = async () => {
    await next()
    return toolReply({})
  }
  const { signal, onActed } = course
  const heard = playing
    .faults(facts)
    .reduceRight<NextReply>(
      (inner, fault) => () =>
        fault.apply(inner, { ...about, clock: session.clock, signal, acted: () => onActed(fault.rule) }),
      answer,
    )
  await heard()
}

/** An iteration of a task, which may never come to an end; its limit of time stands still while it is held up. */
export function throughTaskFaults(
  turn: Turn,
  deadline: Pick<Deadline, 'hold'>,
  next: () => Promise<void>,
): Promise<void> {
  const { session, task, deps, signal } = turn
  const onActed = (rule: string) => {
    deadline.hold()
    const step = journalStep(turn, session.clock.now(), {
      ...{ kind: 'wait', name: 'nothing', outcome: 'waiting' },
      iteration: task.turn.iterations + 1,
      faults: [rule],
    })
    // A turn that has ended meanwhile has nothing to note.
    turn.commit(() => ({ steps: [step] })).catch(() => {})
  }
  return throughFaults({ at: 'task', session, task, deps, key: 'iteration', signal, onActed }, next)
}

/** A decision about tools of a task, which may never arrive. */
export function throughApprovalFaults(
  { session, task, deps, calls }: Pick<Course, 'session' | 'task' | 'deps'> & { calls: readonly string[] },
  next: () => Promise<void>,
): Promise<void> {
  const never = new AbortController().signal
  const key = `approval:${calls.join(',')}`
  return throughFaults({ at: 'approval', session, task, deps, key, signal: never, onActed() {} }, next)
}
