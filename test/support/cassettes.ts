// Interactions and cassettes for tests.
import { readFileSync } from 'node:fs'
import { readCassette } from '../../src/cassettes/read.ts'
import { CassetteWriter, type NewHeader } from '../../src/cassettes/write.ts'
import type { Cassette, Frame, Interaction, RecordedAttempt } from '../../src/contract/core/cassette.ts'

/** The header of a new cassette. */
export const newHeader = (session: string, more: Partial<NewHeader> = {}): NewHeader => ({
  session,
  recorded: '2026-11-26',
  understudy: '0.1.0',
  volatile: [],
  redact: [],
  ...more,
})

/** A frame of text. */
export const frame = (at: number, text: string): Frame => ({ at, bytes: new TextEncoder().encode(text) })

/** A complete response with status 200. */
export const answered = (...frames: Frame[]): RecordedAttempt => ({
  response: { status: 200, headers: [['content-type', 'text/event-stream']], at: 10, frames },
  end: 'complete',
  endedAt: 2_000,
})

/** An interaction with a JSON body. */
export const chatInteraction = (
  value: unknown,
  {
    turn = 1,
    attempts = [answered(frame(12, '{"id":"x"}'))],
    headers = {},
  }: Partial<Interaction> & {
    headers?: Record<string, string>
  } = {},
): Interaction => ({
  turn,
  request: {
    provider: 'openai',
    operation: 'chat.completions',
    model: 'gpt-4o',
    path: '/v1/chat/completions',
    headers,
    body: { kind: 'json', value },
  },
  attempts,
})

/** Writes interactions as the cassette of a session, and reads it again. */
export async function writeCassette(
  folder: string,
  header: NewHeader,
  interactions: readonly Interaction[],
): Promise<Cassette & { text: string }> {
  const problems: string[] = []
  const writer = new CassetteWriter(folder, header, { report: (problem) => problems.push(problem) })
  await Promise.all(interactions.map((interaction) => writer.append(interaction)))
  await writer.finish()
  if (problems.length > 0) throw new Error(problems.join('\n'))
  return { ...readCassette(writer.file), text: readFileSync(writer.file, 'utf8') }
}
