// The worker that records: a separate program inside the executable.
import { SessionRecording } from '../cassettes/session-recording.ts'
import type { NumberedReport, NumberedRequest } from './recording.ts'
import { unpackBatch } from './recording-batch.ts'

declare const self: Worker

/** What a recorder records. */
interface Recording {
  sessions: Map<string, SessionRecording>
  /** Lines that are not reported yet. */
  lines: string[]
}

const recordings = new Map<number, Recording>()
/** One request after another. An unexpected error ends the worker. */
let work = Promise.resolve()

self.onmessage = ({ data }: MessageEvent<NumberedRequest>) => {
  work = work.then(() => perform(data))
}

async function perform(request: NumberedRequest): Promise<void> {
  const { recorder } = request
  const recording = recordings.getOrInsertComputed(recorder, () => ({ sessions: new Map(), lines: [] }))
  const changed = request.type === 'finish' ? await finish(recording, request) : await record(recording, request)
  const sessions = changed.map((session) => ({ recorded: session.recorded(), found: session.takeFound() }))
  self.postMessage({ recorder, sessions, lines: recording.lines.splice(0) } satisfies NumberedReport)
  if (request.type === 'finish') recordings.delete(recorder)
}

async function record(
  { sessions, lines }: Recording,
  { opened, learned, batch }: NumberedRequest & { type: 'record' },
): Promise<SessionRecording[]> {
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
  return [...changed]
}

async function finish(
  { sessions }: Recording,
  { end, notSent }: NumberedRequest & { type: 'finish' },
): Promise<SessionRecording[]> {
  const endOf = (name: string) => end ?? (notSent.includes(name) ? 'not sent' : undefined)
  await Promise.all(Array.from(sessions, ([name, session]) => session.finish(endOf(name))))
  return [...sessions.values()]
}
