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
  | { type: 'finish'; end: RunEnd | undefined }

/** What the worker has done. */
export interface RecordingReport {
  /** The sessions that have changed, and what was redacted in them since the last report. */
  sessions: readonly { recorded: RecordedSession; found: readonly RedactorChange[] }[]
  /** Lines about cassettes that cannot be written. */
  lines: readonly string[]
}

/** A running worker. */
export interface RecordingWorker {
  send(request: RecordingRequest): void
  /** Keeps the process alive from now on, until `end`. */
  hold(): void
  /** Ends it. Nothing is received from now on. */
  end(): void
}

/** The worker's module: `build/build.ts` makes it an entry of the executable. */
const address = () =>
  new URL(isCompiled ? './src/workers/recording-worker.js' : './recording-worker.ts', import.meta.url).href

/**
 * Starts a worker, which does not keep the process alive.
 * @param died called once if it ends by itself
 */
export function startRecordingWorker(
  received: (report: RecordingReport) => void,
  died: (reason: string) => void,
): RecordingWorker {
  const worker = new Worker(address()) as Worker & { ref(): void; unref(): void }
  let reason = 'its worker has ended'
  let isEnded = false
  worker.unref()
  worker.onmessage = ({ data }: MessageEvent<RecordingReport>) => received(data)
  worker.onerror = ({ message }) => {
    reason = `its worker has failed: ${/^error: (.+)$/m.exec(message)?.[1] ?? message}`
  }
  worker.addEventListener('close', () => {
    if (!isEnded) died(reason)
  })
  return {
    send: (request) => worker.postMessage(request, request.type === 'record' ? [request.batch.bytes.buffer] : []),
    hold: () => worker.ref(),
    end() {
      isEnded = true
      worker.terminate()
    },
  }
}
