// What the scenario that is played does to the course of a task: to its iterations, and to what is decided about its tools.
import { AGENT_SUBJECTS } from '../contract/agent-subjects.ts'
import type { NextReply } from '../contract/fault.ts'
import { valueReply } from '../contract/reply.ts'
import { withFaults } from '../gateway/attempt.ts'
import { withoutLatency } from '../lib/clock.ts'
import type { Deadline } from '../lib/deadline.ts'
import type { Session } from '../sessions/sessions.ts'
import { taskFacts } from './fault-facts.ts'
import type { AgentTaskRecord } from './manifest.ts'
import { journalStep, type Turn, type TurnDeps } from './turn.ts'

/** What a scenario may do something to. */
interface Course {
  at: 'task' | 'approval'
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
  const { iterations } = task.turn
  const about = { operation: AGENT_SUBJECTS[at], request: {}, model: '', stream: false }
  const iteration = iterations + (at === 'task' ? 1 : 0)
  const facts = taskFacts({ session, task }, { ...about, at, iteration, key: `${iterations}:${course.key}` })
  const answer: NextReply = async () => {
    await next()
    return valueReply({})
  }
  const { signal, onActed } = course
  await withFaults(playing.faults(facts), answer, {
    about: { ...about, clock: withoutLatency(session.clock), signal },
    onActed,
  })
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
