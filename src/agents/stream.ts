// A task as events of a stream: what its turn does, as it does it, up to its end or to that of the client's patience.
import { ApiError } from '../contract/error.ts'
import type { Reply } from '../contract/reply.ts'
import type { MessageRecord } from '../contract/task-record.ts'
import { startDeadline } from '../lib/deadline.ts'
import { DONE_EVENT, dataEvent, type EventBatch } from '../lib/sse.ts'
import type { TaskEvent } from './events.ts'
import type { AgentTaskRecord } from './manifest.ts'
import { taskNotFound } from './store.ts'
import { beginning, ending, eventsOfTask, type StreamedEvent } from './stream-events.ts'
import type { TaskCall } from './submission.ts'
import type { TaskService } from './tasks.ts'

const STREAM = { usage: null, fixture: null, synthesized: false }

/** What the stream of a task is made of. */
export interface TaskStreamOptions {
  tasks: TaskService
  call: TaskCall
  /** Longest that it may go on, in seconds of the session's clock. */
  seconds: number
  /** Aborted when the client has gone. */
  signal: AbortSignal
  headersOf(task: AgentTaskRecord): Record<string, string>
}

/** Why a stream ends before the turn does. */
class StreamTimeout extends Error {}

/** Submits a task, and gives its turn as a stream of events. */
export async function streamOfTask({ tasks, call, seconds, signal, headersOf }: TaskStreamOptions): Promise<Reply> {
  const { session } = call
  const happened = eventQueue()
  let stop = () => {}
  const task = await tasks.submit({
    ...call,
    begun({ _id }) {
      stop = tasks.subscribe(call, _id, happened.push)
    },
  })
  const activity = session.begin({ signal })
  const time = `${seconds} s`
  const reason = () =>
    new StreamTimeout(`the stream has taken its stream_timeout_seconds of ${time}; the task works on`)
  const limit = startDeadline(session.clock, seconds * 1000, { outer: activity.signal, reason })
  const close = () => {
    happened.wake()
    stop()
    limit.stop()
    activity.end()
  }
  // A client may go before it has read anything: nothing of what follows is run then.
  limit.signal.addEventListener('abort', close, { once: true })
  return { ...STREAM, status: 200, headers: headersOf(task), body: { kind: 'events', events: events() } }

  async function* events(): AsyncGenerator<EventBatch> {
    try {
      const input = call.body.message as Parameters<typeof beginning>[1]
      const historyOf = () => tasks.get(call, task._id).history
      let last = ''
      for await (const [type, data] of turnEvents(task, input, { happened, over: limit.signal, historyOf })) {
        last = type
        yield [dataEvent({ type, timestamp: new Date(session.clock.now()).toISOString(), data })]
      }
      // What broke off has no end mark.
      if (last !== 'agents.error') yield [DONE_EVENT]
    } finally {
      limit.signal.removeEventListener('abort', close)
      close()
    }
  }
}

/** What happens, until somebody asks for it. */
function eventQueue() {
  const waiting: TaskEvent[] = []
  let wake = () => {}
  return {
    push(event: TaskEvent) {
      waiting.push(event)
      wake()
    },
    shift: () => waiting.shift(),
    /** Resolves when there may be more. */
    more: () => new Promise<void>((resolve) => (wake = resolve)),
    wake: () => wake(),
  }
}

interface TurnFeed {
  happened: ReturnType<typeof eventQueue>
  /** Aborted when nobody is told any more. */
  over: AbortSignal
  historyOf(): readonly MessageRecord[]
}

async function* turnEvents(
  task: AgentTaskRecord,
  input: Parameters<typeof beginning>[1],
  { happened, over, historyOf }: TurnFeed,
): AsyncGenerator<StreamedEvent> {
  yield* beginning(task, input)
  const eventsOf = eventsOfTask()
  for (;;) {
    const next = happened.shift()
    if (next?.type === 'gone') return yield* cutOff(taskNotFound(task._id))
    if (next) {
      yield* eventsOf(next)
      if (next.task.active === null) return yield* ending(next.task, historyOf())
    } else if (over.aborted) return yield* cutOff(over.reason)
    else await happened.more()
  }
}

/** What is said when the stream ends before the turn: nothing to a client that has gone. */
function cutOff(reason: unknown): StreamedEvent[] {
  if (reason instanceof StreamTimeout) return [['agents.timeout', { message: reason.message }]]
  return reason instanceof ApiError ? [['agents.error', { error: reason.message, code: reason.code }]] : []
}
