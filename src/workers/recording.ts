// Starts the worker that records what providers send, so that redaction and writing slow down no response.
import type { RedactorChange } from '../cassettes/redact.ts'
import type { NewRecording, RecordedSession, RunEnd } from '../cassettes/session-recording.ts'
import { isCompiled } from '../lib/assets.ts'
import type { PackedBatch } from './recording-batch.ts'

/** What the worker is to do. It answers each request with a report, in their order. */
export type RecordingRequest =
  | {
      type: 'record'
      /** Sessions that have attempts for the first time. */
      opened: readonly NewRecording[]
      /** What redactors of this thread have learned, by session. */
      learned: readonly (readonly [session: string, changes: readonly RedactorChange[]])[]
      batch: PackedBatch
    }
  | {
      type: 'finish'
      end: RunEnd | undefined
      /** Sessions of which calls were not sent. */
      notSent: readonly string[]
    }

/** A request of one of the recorders in this process. */
export type NumberedRequest = RecordingRequest & { recorder: number }
/** Its report. */
export type NumberedReport = RecordingReport & { recorder: number }

/** What the worker has done. */
export interface RecordingReport {
  /** The sessions that have changed, and what was redacted in them since the last report. */
  sessions: readonly { recorded: RecordedSession; found: readonly RedactorChange[] }[]
  /** Lines about cassettes that cannot be written. */
  lines: readonly string[]
}

/** The worker as a recorder uses it. */
export interface RecordingWorker {
  send(request: RecordingRequest): void
  /** Keeps the process alive until `end`. */
  hold(): void
  /** Nothing is sent or received from now on. */
  end(): void
}

interface Client {
  received(report: RecordingReport): void
  died(reason: string): void
}

/** A worker with `ref` and `unref`, which the type for browsers lacks. */
type Thread = Worker & { ref(): void; unref(): void }

/** The worker's module: `build/build.ts` makes it an entry of the executable. */
const address = () =>
  new URL(isCompiled ? './src/workers/recording-worker.js' : './recording-worker.ts', import.meta.url).href

/** The worker of this process, and the recorders that use it, by number. */
let thread: Thread | undefined
const clients = new Map<number, Client>()
let lastNumber = 0

/**
 * The worker that records, started if there is none. It does not keep the process alive.
 * @param client `died` is called once if the worker ends first
 */
export function recordingWorker(client: Client): RecordingWorker {
  const worker = (thread ??= start())
  const recorder = ++lastNumber
  clients.set(recorder, client)
  return {
    send: (request) =>
      worker.postMessage(
        { ...request, recorder } satisfies NumberedRequest,
        request.type === 'record' ? [request.batch.bytes.buffer] : [],
      ),
    hold: () => worker.ref(),
    end() {
      clients.delete(recorder)
      if (clients.size === 0) worker.unref()
    },
  }
}

/** Ends the worker. What it has not recorded is lost, and its cassettes stay incomplete. */
export const endRecordingWorker = (): void => thread?.terminate()

function start(): Thread {
  const worker = new Worker(address()) as Thread
  let reason = 'its worker has ended'
  worker.unref()
  worker.onmessage = ({ data }: MessageEvent<NumberedReport>) => clients.get(data.recorder)?.received(data)
  worker.onerror = ({ message }) => {
    reason = `its worker has failed: ${/^error: (.+)$/m.exec(message)?.[1] ?? message}`
  }
  worker.addEventListener('close', () => {
    const left = [...clients.values()]
    thread = undefined
    clients.clear()
    for (const { died } of left) died(reason)
  })
  return worker
}
