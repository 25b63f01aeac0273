// What recordings contain: large requests and responses are redacted in a worker, and numbers of earlier recordings stay.
import { afterAll, expect, jest, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { brotliCompressSync, gzipSync, zstdCompressSync } from 'node:zlib'
import { bounded } from '../../src/backends/forward/provider-response.ts'
import type { Received, Transport } from '../../src/backends/forward/transport.ts'
import { Recorder } from '../../src/backends/record/recorder.ts'
import { readCassette } from '../../src/cassettes/read.ts'
import { createRedactor } from '../../src/cassettes/redact.ts'
import type { Interaction } from '../../src/contract/core/cassette.ts'
import { nextTurn } from '../../src/lib/bare-socket.ts'
import { realClock } from '../../src/lib/clock.ts'
import { endRecordingWorker } from '../../src/workers/recording.ts'
import { answered, chatInteraction, frame, newHeader } from '../support/cassettes.ts'
import { emptyFolder } from '../support/server.ts'

const folder = emptyFolder()
afterAll(folder.remove)

const LARGE = 100_000
const redaction = { paths: [], personalNames: false, keys: [] }
const mails = (first: number, size: number) =>
  Array.from({ length: size / 20 }, (_, index) => `m${first + (index % 50)}@example.org `).join('')

/** A recorder, and a call that is recorded: what it sends, and what its provider sends. */
function recording(session: string, earlier: readonly Interaction[] = []) {
  const reported: string[] = []
  const redactor = createRedactor(redaction)
  const recorder = new Recorder({
    folder: folder.path,
    header: (name) => newHeader(name),
    redactorOf: () => redactor,
    cassetteOf: (name) => name,
    firstWithCassetteOf: (name) => name,
    limit: 8 * 2 ** 20,
    earlier: () => earlier,
    learned: () => redactor.learned(),
    report: (line) => reported.push(line),
  })
  const send = (content: string, response: BodyInit | (() => Promise<Response>)) => {
    const network: Transport = async () => (typeof response === 'function' ? response() : new Response(response))
    const body = JSON.stringify({ messages: [{ role: 'user', content }] })
    const attempt = {
      ...{ provider: 'openai', operation: 'chat.completions', model: 'gpt-4o', session, clock: realClock },
      signal: new AbortController().signal,
    }
    return recorder.recording(network)('http://upstream.test/v1/chat/completions', { body }, attempt)
  }
  const call = async (content: string, response: string) => {
    await read(await send(content, JSON.stringify({ text: response })))
  }
  const read = (received: Received) =>
    bounded({ name: 'openai', keyOptional: true }, received, Number.POSITIVE_INFINITY).text()
  return { recorder, send, read, call, reported, redactor, file: () => recorder.recorded()[0]?.file ?? '' }
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

test('recording: leaves the cassette incomplete and says so once when its worker ends', async () => {
  const { recorder, call, reported, file } = recording('ended')
  await call('a', 'b')
  while (recorder.recorded()[0]?.attempts !== 1) await nextTurn()
  endRecordingWorker()
  while (reported.length === 0) await nextTurn()
  await call('c', 'd')
  await recorder.finish()
  expect(reported).toEqual([
    expect.stringMatching(/^the recording of session 'ended' stays incomplete: \S+ended\.yaml: its worker has ended$/),
  ])
  expect(recorder.recorded()).toMatchObject([{ attempts: 1, problem: reported[0] }])
  const { header, interactions } = readCassette(file())
  expect([header.state, interactions.length]).toEqual(['incomplete', 1])
})

test('recording: says so once when attempts come after its end', async () => {
  const { recorder, call, reported, file } = recording('over')
  await call('a', 'b')
  await recorder.finish()
  await call('c', 'd')
  await call('e', 'f')
  expect(reported).toEqual([
    `the recording of session 'over' lacks what followed: ${file()}: an attempt came after its end`,
  ])
  expect(readCassette(file()).interactions).toHaveLength(1)
})

test('recording: numbers no value as an earlier recording has numbered one of a response', async () => {
  const response = answered(frame(1, '{"a":"<secret:email:1>","b":-1111111111120002}'))
  const { recorder, call, file } = recording('again', [chatInteraction({ a: 1 }, { attempts: [response] })])
  await call('c@example.org', 'd@example.org')
  await recorder.finish()
  const numbers = readFileSync(file(), 'utf8').match(/<secret:email:\d+>/g)
  expect(numbers).toEqual(['<secret:email:1>', '<secret:email:3>', '<secret:email:4>'])
})

test('recording: writes in a pause, and after five seconds without one', async () => {
  jest.useFakeTimers()
  try {
    const { recorder, call } = recording('busy')
    const pass = async (ms: number) => {
      jest.advanceTimersByTime(ms)
      await nextTurn()
    }
    const callFor = async (calls: number) => {
      for (let made = 0; made < calls; made++) {
        await call('a', 'b')
        await pass(10)
      }
    }
    const written = () => recorder.recorded()[0]?.attempts
    await callFor(400)
    expect(written()).toBe(0)
    await callFor(200)
    while (!written()) await nextTurn()
    expect(written()).toBeLessThan(600)
    for (let ticks = 0; ticks < 4; ticks++) await pass(20)
    while (written() !== 600) await nextTurn()
  } finally {
    jest.useRealTimers()
  }
})

test('recording: writes large requests without a pause before they fill the memory', async () => {
  jest.useFakeTimers()
  try {
    const { recorder, call } = recording('large')
    const large = 'a'.repeat(2 ** 20)
    for (let calls = 0; calls < 40; calls++) {
      await call(large, 'b')
      jest.advanceTimersByTime(10)
      await nextTurn()
    }
    while (!recorder.recorded()[0]?.attempts) await nextTurn()
  } finally {
    jest.useRealTimers()
  }
})

test('recording: writes a response a second later although one that was sent before is still in progress', async () => {
  jest.useFakeTimers()
  try {
    const { recorder, call, send } = recording('open')
    await send('a', new ReadableStream())
    await call('b', 'c')
    jest.advanceTimersByTime(50)
    await nextTurn()
    jest.advanceTimersByTime(1_000)
    while (recorder.recorded()[0]?.attempts !== 1) await nextTurn()
  } finally {
    jest.useRealTimers()
  }
})

test('recording: tells a connection that broke before a response from one that broke within it', async () => {
  const { recorder, send, read, file } = recording('broken')
  const broken = Object.assign(new Error('broken'), { code: 'ECONNREFUSED' })
  await expect(send('a', () => Promise.reject(broken))).rejects.toThrow('broken')
  const pieces = [new TextEncoder().encode('half')]
  const cut = new ReadableStream({
    pull(controller) {
      const piece = pieces.pop()
      if (piece) controller.enqueue(piece)
      else controller.error(broken)
    },
  })
  await expect(read(await send('b', cut)).then(() => 'read')).rejects.toThrow()
  await recorder.finish()
  const { interactions } = readCassette(file())
  expect(interactions.map(({ attempts }) => attempts)).toMatchObject([
    [{ end: 'reset', reason: 'ECONNREFUSED' }],
    [{ end: 'cut by provider', reason: 'ECONNREFUSED', response: { status: 200 } }],
  ])
})

test('recording: numbers values in the order in which requests were sent', async () => {
  const { recorder, call, send, read, file } = recording('order')
  jest.useFakeTimers()
  try {
    const first = await send('first@example.org', 'x')
    await call('second@example.org', 'y')
    jest.advanceTimersByTime(50)
    await nextTurn()
    await read(first)
  } finally {
    jest.useRealTimers()
  }
  await recorder.finish()
  const found = readFileSync(file(), 'utf8').match(/<secret:email:\d+>|(?<=ms )(?:x|\{"text":"y"\})$/gm)
  expect(found).toEqual(['<secret:email:1>', 'x', '<secret:email:2>', '{"text":"y"}'])
})

test('recording: replaces a value that a replayed call of the session has shown to be a secret', async () => {
  const { recorder, call, redactor, file } = recording('shown')
  const about = { provider: 'openai', operation: 'chat.completions', model: 'gpt-4o', path: '/x', headers: {} }
  redactor.request({ ...about, body: { kind: 'json', value: { text: 'password: hunter22x' } } })
  await call('a', 'It is hunter22x.')
  await recorder.finish()
  expect(readFileSync(file(), 'utf8')).toContain('It is <secret:password:1>.')
})

test('recording: records compressed responses as they are read', async () => {
  const { recorder, send, read, file } = recording('packed')
  const text = JSON.stringify({ text: 'packed for c@example.org' })
  const respond = (encoding: string, bytes: Uint8Array) => async () =>
    new Response(bytes as Uint8Array<ArrayBuffer>, {
      headers: {
        'content-type': 'application/json',
        'content-encoding': encoding,
        'content-length': `${bytes.length}`,
      },
    })
  const whole = [
    ['gzip', gzipSync(text)],
    ['br', brotliCompressSync(text)],
    ['gzip, zstd', zstdCompressSync(gzipSync(text))],
  ] as const
  for (const [encoding, bytes] of whole) expect(await read(await send(encoding, respond(encoding, bytes)))).toBe(text)
  const broken = [
    ['cut', () => send('cut', respond('gzip', gzipSync(text).subarray(0, 30)))],
    ['unknown', () => send('unknown', respond('lzw', Buffer.from(text)))],
  ] as const
  for (const [, sending] of broken) await expect(sending().then(read)).rejects.toThrow()
  await recorder.finish()

  const recorded = readCassette(file()).interactions.map(({ attempts: [attempt] }) => [
    attempt?.end,
    attempt?.response?.headers,
    Buffer.concat(attempt?.response?.frames.map(({ bytes }) => bytes) ?? []).toString(),
  ])
  const headers: [string, string][] = [['content-type', 'application/json']]
  const complete = ['complete', headers, '{"text":"packed for <secret:email:1>"}']
  expect(recorded.slice(0, 3)).toEqual([complete, complete, complete])
  expect(recorded.slice(3).map(([end, shown]) => [end, shown])).toEqual([
    ['cut by provider', headers],
    // So that it cannot be read in a replay either.
    ['left by client', [['content-encoding', 'lzw'], ['content-length', `${text.length}`], ...headers]],
  ])
})
