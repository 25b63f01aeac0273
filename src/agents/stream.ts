// A task as events of a stream: what its turn does, as it does it, up to its end or to that of the client's patience.
import { ApiError } from '../contract/error.ts'
import type { Reply } from '../contract/reply.ts'
import { startDeadline } from '../lib/deadline.ts'
import { DONE_EVENT, type StreamEvent } from '../lib/sse.ts'
import type { TaskEvent } from './events.ts'
import type { AgentTaskRecord } from './manifest.ts'
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
  const waiting: TaskEvent[] = []
  let wake = () => {}
  let stop = () => {}
  const task = await tasks.submit({
    ...call,
    begun({ _id }) {
      stop = tasks.subscribe(call, _id, (event) => {
        waiting.push(event)
        wake()
      })
    },
  })
  const activity = session.begin({ signal })
  const time = `${seconds} s`
  const reason = () =>
    new StreamTimeout(`the stream has taken its stream_timeout_seconds of ${time}; the task works on`)
  const limit = startDeadline(session.clock, seconds * 1000, { outer: activity.signal, reason })
  const over = limit.signal
  const close = () => {
    stop()
    limit.stop()
    activity.end()
  }
  // A client may go before it has read anything: nothing of what follows is run then.
  over.addEventListener('abort', close, { once: true })
  return { ...STREAM, status: 200, headers: headersOf(task), body: { kind: 'events', events: events() } }

  async function* events(): AsyncGenerator<StreamEvent> {
    const event = ([type, data]: StreamedEvent): StreamEvent => ({
      data: { type, timestamp: new Date(session.clock.now()).toISOString(), data },
    })
    const leave = () => wake()
    over.addEventListener('abort', leave, { once: true })
    const eventsOf = eventsOfTask()
    try {
      for (const one of beginning(task, call.body.message as Parameters<typeof beginning>[1])) yield event(one)
      for (;;) {
        const next = waiting.shift()
        if (next) {
          for (const one of eventsOf(next)) yield event(one)
          if (next.task.active !== null) continue
          for (const one of ending(next.task, tasks.get(call, task._id).history)) yield event(one)
          break
        }
        if (over.aborted) {
          const said = cutOff(over.reason)
          if (said) yield event(said)
          if (!(over.reason instanceof StreamTimeout)) return
          break
        }
        await new Promise<void>((resolve) => (wake = resolve))
      }
      yield DONE_EVENT
    } finally {
      close()
      over.removeEventListener('abort', leave)
    }
  }
}

/** What is said when the stream ends before the turn: nothing to a client that has gone. */
function cutOff(reason: unknown): StreamedEvent | undefined {
  if (reason instanceof StreamTimeout) return ['agents.timeout', { message: reason.message }]
  return reason instanceof ApiError ? ['agents.error', { error: reason.message, code: reason.code }] : undefined
}
