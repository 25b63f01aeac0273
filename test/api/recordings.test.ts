// What recordings contain: large requests and responses are redacted in a worker, and numbers of earlier recordings stay.
import { afterAll, afterEach, expect, jest, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { bounded } from '../../src/backends/forward/provider-response.ts'
import type { Transport } from '../../src/backends/forward/transport.ts'
import { createRecorder } from '../../src/backends/record/recorder.ts'
import { readCassette } from '../../src/cassettes/read.ts'
import { createRedactor } from '../../src/cassettes/redact.ts'
import type { Interaction } from '../../src/contract/core/cassette.ts'
import { nextTurn } from '../../src/lib/bare-socket.ts'
import { realClock } from '../../src/lib/clock.ts'
import { endWorkers, workerCounts } from '../../src/workers/pool.ts'
import { answered, chatInteraction, frame, newHeader } from '../support/cassettes.ts'
import { emptyFolder } from '../support/server.ts'

const folder = emptyFolder()
afterAll(folder.remove)
afterEach(endWorkers)

const LARGE = 100_000
const redaction = { paths: [], personalNames: false, keys: [] }
const mails = (first: number, size: number) =>
  Array.from({ length: size / 20 }, (_, index) => `m${first + (index % 50)}@example.org `).join('')

/** A recorder, and a call that is recorded: what it sends, and what its provider sends. */
function recording(session: string, earlier: readonly Interaction[] = []) {
  const reported: string[] = []
  const redactor = createRedactor(redaction)
  const recorder = createRecorder({
    folder: folder.path,
    header: (name) => newHeader(name),
    rules: [],
    redactorOf: () => redactor,
    cassetteOf: (name) => name,
    limit: 8 * 2 ** 20,
    earlier: () => earlier,
    report: (line) => reported.push(line),
  })
  const send = (content: string, response: BodyInit) => {
    const network: Transport = async () => new Response(response)
    const body = JSON.stringify({ messages: [{ role: 'user', content }] })
    const attempt = {
      ...{ provider: 'openai', operation: 'chat.completions', model: 'gpt-4o', session, clock: realClock },
      signal: new AbortController().signal,
    }
    return recorder.recording(network)('http://upstream.test/v1/chat/completions', { body }, attempt)
  }
  const call = async (content: string, response: string) => {
    const received = await send(content, JSON.stringify({ text: response }))
    await bounded({ name: 'openai', keyOptional: true }, received, Number.POSITIVE_INFINITY).text()
  }
  return { recorder, send, call, reported, redactor, file: () => recorder.recorded()[0]?.file ?? '' }
}

test('recording: redacts large requests and responses in a worker as it redacts small ones', async () => {
  const { recorder, call, reported, redactor, file } = recording('large')
  const calls = [
    ['first a@example.org', 'b@example.org'],
    [`password: hunter22x ${mails(1, 200)}`, `hunter22x ${mails(1, LARGE)}`],
    [mails(40, LARGE), 'a@example.org and hunter22x'],
    ['last', mails(80, LARGE)],
  ] as const
  for (const [content, response] of calls) await call(content, response)
  await recorder.finish()
  expect([reported, readCassette(file()).header.state]).toEqual([[], 'complete'])

  const inOneThread = createRedactor(redaction)
  const expected = calls.map(([content, response]) => {
    const body = { kind: 'json', value: { messages: [{ role: 'user', content }] } } as const
    const about = { provider: 'openai', operation: 'chat.completions', model: 'gpt-4o', path: '/x', headers: {} }
    const request = inOneThread.request({ ...about, body })
    const frames = [{ at: 0, bytes: new TextEncoder().encode(JSON.stringify({ text: response })) }]
    const attempt = inOneThread.attempt({
      response: { status: 200, headers: [], at: 0, frames },
      end: 'complete',
      endedAt: 0,
    })
    return [request.body, Buffer.concat(attempt.response?.frames.map(({ bytes }) => bytes) ?? []).toString()]
  })
  const recorded = readCassette(file()).interactions.map(({ request, attempts }) => [
    request.body,
    Buffer.concat(attempts[0]?.response?.frames.map(({ bytes }) => bytes) ?? []).toString(),
  ])
  expect(recorded).toEqual(expected)
  expect(redactor.report()).toEqual(inOneThread.report())
  expect(readFileSync(file(), 'utf8')).not.toMatch(/@example|hunter/)
})

test('recording: leaves the cassette incomplete and says so once when a worker ends too early', async () => {
  const { recorder, call, reported, file } = recording('ended')
  await call('small', 'small')
  await call('a', mails(1, LARGE))
  await call('b', mails(1, LARGE))
  const finished = recorder.finish()
  while (workerCounts().jobs === 0) await nextTurn()
  endWorkers()
  await finished
  expect(reported).toEqual([
    expect.stringMatching(
      /^the recording of session 'ended' stays incomplete: \S+ended\.yaml: a response cannot be recorded: the server ends$/,
    ),
  ])
  expect(recorder.recorded()).toMatchObject([{ problem: reported[0] }])
  const { header, interactions } = readCassette(file())
  expect([header.state, interactions.length]).toEqual(['incomplete', 1])
})

test('recording: numbers no value as an earlier recording has numbered one of a response', async () => {
  const response = answered(frame(1, '{"a":"<secret:email:1>","b":-1111111111120002}'))
  const { recorder, call, file } = recording('again', [chatInteraction({ a: 1 }, { attempts: [response] })])
  await call('c@example.org', 'd@example.org')
  await recorder.finish()
  const numbers = readFileSync(file(), 'utf8').match(/<secret:email:\d+>/g)
  expect(numbers).toEqual(['<secret:email:1>', '<secret:email:3>', '<secret:email:4>'])
})

test('recording: lets no response wait for more than about a second when calls follow each other without a pause', async () => {
  jest.useFakeTimers()
  try {
    const { recorder, call } = recording('busy')
    const unwritten: number[] = []
    for (let calls = 1; calls <= 300; calls++) {
      await call('a', 'b')
      jest.advanceTimersByTime(10)
      for (let turn = 0; turn < 4; turn++) await nextTurn()
      unwritten.push(calls - (recorder.recorded()[0]?.attempts ?? 0))
    }
    expect(Math.max(...unwritten)).toBeWithin(90, 110)
    await recorder.finish()
  } finally {
    jest.useRealTimers()
  }
})

test('recording: writes a response within about a second while another one is still in progress', async () => {
  jest.useFakeTimers()
  try {
    const { recorder, call, send } = recording('open')
    await send('a', new ReadableStream())
    await call('b', 'c')
    jest.advanceTimersByTime(1100)
    for (let turn = 0; turn < 4; turn++) await nextTurn()
    expect(recorder.recorded()).toMatchObject([{ attempts: 1 }])
    await recorder.finish()
  } finally {
    jest.useRealTimers()
  }
})
