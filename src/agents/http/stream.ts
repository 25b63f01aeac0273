// A task as a stream of events: the steps of its turn as they happen, until its end or the client's timeout.
import { ApiError } from '../../contract/core/error.ts'
import type { Reply } from '../../contract/core/reply.ts'
import { startDeadline } from '../../lib/deadline.ts'
import { DONE_EVENT, dataEvent, type EventBatch } from '../../lib/sse.ts'
import type { TaskCall } from '../loop/submission.ts'
import type { TaskService } from '../loop/tasks.ts'
import { taskFeed } from '../store/events.ts'
import type { AgentTaskRecord } from '../store/manifest.ts'
import { beginning, ending, eventsOfTask, type StreamedEvent } from './stream-events.ts'

const STREAM = { usage: null, fixture: null, generated: false }

/** The inputs of a task's stream. */
interface TaskStreamOptions {
  tasks: TaskService
  call: TaskCall
  /** Maximum duration, in seconds of the session's clock. */
  seconds: number
  /** Aborts when the client disconnects. */
  signal: AbortSignal
  headersOf(task: AgentTaskRecord): Record<string, string>
}

/** The stream ended before the turn. */
class StreamTimeout extends Error {}

/** Submits a task, and streams the events of its turn. */
export async function streamOfTask({ tasks, call, seconds, signal, headersOf }: TaskStreamOptions): Promise<Reply> {
  const { session } = call
  const happened = taskFeed()
  const task = await tasks.submit({
    ...call,
    started({ _id }) {
      happened.follow((listener) => tasks.subscribe(call, _id, listener))
    },
  })
  const activity = session.begin({ signal })
  const time = `${seconds} s`
  const reason = () =>
    new StreamTimeout(`the stream has taken its stream_timeout_seconds of ${time}; the task works on`)
  const limit = startDeadline(session.clock, seconds * 1000, { outer: activity.signal, reason })
  const close = () => {
    happened.close()
    limit.stop()
    activity.end()
  }
  // A client may disconnect before it has read anything: then nothing of what follows runs.
  limit.signal.addEventListener('abort', close, { once: true })
  return { ...STREAM, status: 200, headers: headersOf(task), body: { kind: 'events', events: events() } }

  async function* events(): AsyncGenerator<EventBatch> {
    try {
      let last = ''
      for await (const [type, data] of turnEvents()) {
        last = type
        yield [dataEvent({ type, timestamp: new Date(session.clock.now()).toISOString(), data })]
      }
      // A failed stream has no end mark.
      if (last !== 'agents.error') yield [DONE_EVENT]
    } finally {
      limit.signal.removeEventListener('abort', close)
      close()
    }
  }

  async function* turnEvents(): AsyncGenerator<StreamedEvent> {
    yield* beginning(task, call.body.message as Parameters<typeof beginning>[1])
    const eventsOf = eventsOfTask()
    try {
      for await (const event of happened.read([limit.signal])) {
        yield* eventsOf(event)
        if (event.task.active === null) yield* ending(event.task, tasks.get(call, task._id).history)
      }
    } catch (error) {
      if (error instanceof StreamTimeout) yield ['agents.timeout', { message: error.message }]
      else if (error instanceof ApiError) yield ['agents.error', { error: error.message, code: error.code }]
      // A disconnected client receives nothing.
      else if (error !== limit.signal.reason) throw error
    }
  }
}
