// The task service, over HTTP or A2A: submit, continue, read, wait, cancel, decide.
import type { ToolAnswers } from '../../backends/fixture/tool-answers.ts'
import type { PageQuery } from '../../contract/workspace/shared.ts'
import type { TaskRecord } from '../../contract/workspace/task-record.ts'
import type { Session } from '../../sessions/sessions.ts'
import { createTaskEvents, type TaskListener, taskFeed } from '../store/events.ts'
import type { AgentTaskRecord } from '../store/manifest.ts'
import {
  activeTasks,
  agentOf,
  findTask,
  messagesOf,
  placeOf,
  type TaskOwner,
  taskOf,
  taskPage,
  type WholeTask,
  wholeTasks,
} from '../store/store.ts'
import { toolFixturesOf } from '../tools/run.ts'
import { callsToDecide, cancelTask, cancelTasks, decideCalls, type ToolDecision } from './decisions.ts'
import { createRunner, type Runner } from './runner.ts'
import { delegateTask } from './sub-tasks.ts'
import { beginTurn, submissionOf, type TaskCall } from './submission.ts'
import { throughTaskFaults } from './task-faults.ts'
import type { TurnDeps } from './turn.ts'

/** The tasks of all sessions. */
export interface TaskService {
  /** Submits or continues a task. Resolves when that is committed; the task then runs. */
  submit(call: TaskCall): Promise<AgentTaskRecord>
  /** A task when it is no longer active. Rejects with the signal's reason if that aborts first. */
  settled(owner: TaskOwner, id: string, signal?: AbortSignal): Promise<WholeTask>
  /**
   * A task.
   * @throws ApiError 404 if there is none
   */
  get(owner: TaskOwner, id: string): WholeTask
  /** Tasks of an agent, newest first. */
  list(owner: TaskOwner, agent: string, query: PageQuery): { data: AgentTaskRecord[]; hasMore: boolean }
  /** The same without the data of their turns, which may be large. */
  page(owner: TaskOwner, agent: string, query: PageQuery): { data: TaskRecord[]; hasMore: boolean }
  /**
   * Cancels a task and its calls.
   * @throws ApiError 409 if it has ended
   */
  cancel(owner: TaskOwner, id: string): Promise<WholeTask>
  /** Decides about pending tool calls, and continues the task. */
  decide(owner: TaskOwner, decision: ToolDecision): Promise<WholeTask>
  /** Listens to a task. The returned function stops that. */
  subscribe(owner: TaskOwner, id: string, listener: TaskListener): () => void
  /** Ends running tasks whose agents were deleted. */
  sweep(session: Session): void
  /** Continues the tasks that an earlier process or generation of the session left. */
  wake(session: Session): void
}

/** The service over the gateway; `toolAnswers` answers tool calls from fixtures. */
export function createTaskService({
  gateway,
  ask,
  toolAnswers,
}: Pick<TurnDeps, 'gateway' | 'ask'> & { toolAnswers: ToolAnswers }): TaskService {
  const events = createTaskEvents(gateway.observers)
  const start = (session: Session, task: AgentTaskRecord) => void runner.run(session, task)
  const delegate: TurnDeps['delegate'] = (turn, work) => delegateTask(turn, work, { ...service, runner })
  const turnDeps = { gateway, ask, fixtures: toolFixturesOf(toolAnswers), events, delegate }
  const runner: Runner = createRunner(turnDeps, ({ session, place, task }) => {
    // Its end may have woken the task itself, or its parent.
    for (const id of [task._id, task.parent?.task]) {
      const now = id === undefined ? undefined : findTask(place, id)
      if (now && now.active !== null) start(session, now)
    }
  })
  const get = (owner: TaskOwner, id: string): WholeTask => {
    const place = placeOf(owner)
    return { task: taskOf(place, id), history: messagesOf(place, id) }
  }
  const service: TaskService = {
    async submit(call) {
      const { session, caller } = call
      const submission = await submissionOf(call)
      const task = await beginTurn(call, submission, events)
      call.started?.(task)
      start(session, task)
      await cancelTasks({ session, caller }, submission.abandoned, { runner, events })
      return task
    },
    async settled(owner, id, signal) {
      const feed = taskFeed()
      // Listening starts before reading, so that nothing is missed.
      feed.follow((listener) => events.subscribe(placeOf(owner), id, listener))
      // A reset session has other tasks, and no one continues this one.
      const happening = feed.read([owner.session.ended, ...(signal ? [signal] : [])])
      try {
        if (get(owner, id).task.active !== null) while (!(await happening.next()).done);
        return get(owner, id)
      } finally {
        feed.close()
      }
    },
    get,
    page: pageOfTasks,
    list(owner, ...args) {
      const page = pageOfTasks(owner, ...args)
      return { ...page, data: wholeTasks(placeOf(owner), page.data) }
    },
    async cancel(owner, id) {
      await cancelTask(owner, id, { runner, events })
      return get(owner, id)
    },
    async decide(owner, decision) {
      const { session } = owner
      const task = taskOf(placeOf(owner), decision.task)
      const calls = callsToDecide(task, decision.tool_call_id)
      const { iterations: iteration } = task.turn
      const key = `${iteration}:approval:${calls.join(',')}`
      const never = new AbortController().signal
      await throughTaskFaults(
        { session, task, deps: turnDeps },
        { at: 'approval', iteration, key, signal: never, onTriggered() {} },
        async () => start(session, await decideCalls(owner, decision, events)),
      )
      return get(owner, decision.task)
    },
    subscribe: (owner, id, listener) => events.subscribe(placeOf(owner), id, listener),
    sweep: runner.sweep,
    wake(session) {
      for (const task of activeTasks(session)) start(session, task)
    },
  }
  return service
}

/** A page of the tasks of an agent, newest first. */
const pageOfTasks: TaskService['page'] = (owner, agent, { limit, starting_after: after, ending_before: before }) =>
  taskPage(placeOf(owner), String(agentOf(owner, agent)._id), { limit, after, before })
