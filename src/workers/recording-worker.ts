// The worker that records: a separate program inside the executable.
import { SessionRecording } from '../cassettes/session-recording.ts'
import type { RecordingReport, RecordingRequest } from './recording.ts'
import { unpackBatch } from './recording-batch.ts'

declare const self: Worker

const sessions = new Map<string, SessionRecording>()
let lines: string[] = []
/** One request after another. An unexpected error ends the worker. */
let work = Promise.resolve()

self.onmessage = ({ data }: MessageEvent<RecordingRequest>) => {
  work = work.then(() => (data.type === 'finish' ? finish(data) : record(data)))
}

async function record({ opened, learned, batch }: RecordingRequest & { type: 'record' }): Promise<void> {
  const known = new Map(learned)
  for (const one of opened) {
    const session = new SessionRecording(one, known.get(one.session) ?? [], (line) => lines.push(line))
    sessions.set(one.session, session)
  }
  for (const [session, changes] of learned) sessions.get(session)?.learn(changes)
  const { begun, ended } = unpackBatch(batch)
  const changed = new Set<SessionRecording>()
  for (const one of begun) sessions.get(one.session)?.begun(one)
  for (const one of ended) {
    const session = sessions.get(one.session)
    session?.ended(one)
    if (session) changed.add(session)
  }
  for (const session of changed) await session.write()
  report(changed)
}

async function finish({ end }: RecordingRequest & { type: 'finish' }): Promise<void> {
  await Promise.all([...sessions.values()].map((session) => session.finish(end)))
  report(sessions.values())
}

function report(changed: Iterable<SessionRecording>): void {
  const all = [...changed].map((session) => ({ recorded: session.recorded(), found: session.takeFound() }))
  self.postMessage({ sessions: all, lines } satisfies RecordingReport)
  lines = []
}
