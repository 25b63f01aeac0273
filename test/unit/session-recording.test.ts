// The recording of one session, as the worker makes it from attempts that overlap, fail or are left open.
import { afterEach, beforeEach, expect, test } from 'bun:test'
import { readCassette } from '../../src/cassettes/read.ts'
import { type RunEnd, SessionRecording } from '../../src/cassettes/session-recording.ts'
import type { RecordedAttempt } from '../../src/contract/core/cassette.ts'
import { answered, frame, newHeader } from '../support/cassettes.ts'
import { emptyFolder } from '../support/server.ts'

let folder = emptyFolder()
beforeEach(() => void (folder = emptyFolder()))
afterEach(() => folder.remove())

/** A recording of the session `s`: `begin` and `end` take the number of an attempt, and times in ms. */
function recording() {
  const reported: string[] = []
  const redaction = { paths: [], personalNames: false, keys: [] }
  const opened = { session: 's', folder: folder.path, header: newHeader('s'), redaction, earlier: [] }
  const session = new SessionRecording(opened, [], (line) => reported.push(line))
  const about = { provider: 'openai', operation: 'chat.completions', model: 'gpt-4o', path: '/x', headers: {} }
  const begin = (number: number, started: number, content = 'a') =>
    session.begun({ number, session: 's', started, request: { ...about, body: JSON.stringify({ content }) } })
  const end = (number: number, { text = `${number}`, status = 200, endedAt = 1, ...more }: Ended = {}) => {
    const { response, ...attempt } = answered(frame(1, text))
    if (response)
      session.ended({
        number,
        session: 's',
        attempt: { ...attempt, ...more, endedAt, response: { ...response, status } },
      })
  }
  const finish = async (how?: RunEnd) => {
    await session.finish(how)
    const { file, problem } = session.recorded()
    const text = ({ response }: RecordedAttempt) =>
      response?.frames.map(({ bytes }) => Buffer.from(bytes).toString()).join('')
    return { file, problem, texts: () => readCassette(file).interactions.map(({ attempts }) => attempts.map(text)) }
  }
  return { begin, end, finish, reported, session }
}

interface Ended extends Partial<Pick<RecordedAttempt, 'end' | 'endedAt'>> {
  text?: string
  status?: number
}

test('session recording: has equal requests in the order in which they were sent, however they end, and so when renewed', async () => {
  for (const order of [
    [1, 2, 3],
    [3, 1, 2],
    [3, 2, 1],
  ]) {
    const { begin, end, finish } = recording()
    for (const number of [1, 2, 3]) begin(number, number)
    for (const number of order) end(number)
    expect((await finish()).texts()).toEqual([['1'], ['2'], ['3']])
  }
})

test.each([408, 409, 429, 500])('session recording: joins a retry to its attempt with status %d', async (status) => {
  const { begin, end, finish } = recording()
  begin(1, 0)
  end(1, { status })
  begin(2, 5)
  end(2)
  expect((await finish()).texts()).toEqual([['1', '2']])
})

test('session recording: takes equal requests for two interactions when the second is no retry', async () => {
  const { begin, end, finish } = recording()
  begin(1, 0)
  end(1, { status: 404 })
  begin(2, 5)
  end(2)
  begin(3, 10, 'b')
  end(3, { status: 500, endedAt: 10 })
  // It was sent before the other one had ended.
  begin(4, 15, 'b')
  end(4)
  expect((await finish()).texts()).toEqual([['1'], ['2'], ['3'], ['4']])
})

test('session recording: stays incomplete when the run was interrupted', async () => {
  const { begin, end, finish, reported } = recording()
  begin(1, 0)
  end(1)
  const { file, problem } = await finish('interrupted')
  expect(problem).toBe('the run was interrupted, so the cassette stays incomplete')
  expect(readCassette(file).header.state).toBe('incomplete')
  expect(reported).toEqual([])
})

test('session recording: leaves a complete cassette in place when the command failed', async () => {
  const run = async (text: string, how?: RunEnd) => {
    const { begin, end, finish } = recording()
    begin(1, 0)
    end(1, { text })
    return finish(how)
  }
  await run('old')
  const { file, problem, texts } = await run('new', 'failed')
  expect(texts()).toEqual([['old']])
  const beside = file.replace('s.yaml', 's~failed.yaml')
  expect(problem).toBe(`the command failed, so ${file} stays as it was; to replay the new recording, rename ${beside}`)
  expect(readCassette(beside).header.state).toBe('complete')
  // The next run that succeeds replaces both.
  expect((await run('newer')).texts()).toEqual([['newer']])
  expect(() => readCassette(beside)).toThrow()
})

test('session recording: stays incomplete when a response cannot be recorded', async () => {
  const { session, begin, end, finish, reported } = recording()
  begin(1, 0)
  begin(2, 1, 'b')
  const response = { status: 200, headers: [], at: 1, frames: undefined as never }
  session.ended({ number: 1, session: 's', attempt: { end: 'complete', endedAt: 1, response } })
  end(2)
  const { file, problem } = await finish()
  expect(reported).toEqual([
    expect.stringMatching(/^the recording of session 's' stays incomplete: .*: a response cannot be recorded: /),
  ])
  expect(problem).toBe(reported[0] ?? null)
  expect(readCassette(file).header.state).toBe('incomplete')
})

test('session recording: waits for the retries of a limited number of requests', async () => {
  const { begin, end, finish, session } = recording()
  const numbers = Array.from({ length: 20 }, (_, index) => index + 1)
  for (const number of numbers) {
    begin(number, number * 10, `${number}`)
    end(number, { status: 500 })
  }
  expect(session.recorded().interactions).toBe(20)
  expect((await finish()).texts()).toEqual(numbers.map((number) => [`${number}`]))
})
