// Forwarded streams: each event as it arrives, the usage only for the trace, and broken ends.
import { afterAll, describe, expect, test } from 'bun:test'
import { ConnectionFailure } from '../../src/contract/core/reply.ts'
import {
  at,
  attempt,
  backendOf,
  HELLO,
  KEY,
  readerOf,
  startBreaking,
  startProvider,
  textIn,
} from '../support/forward.ts'

const stops: (() => unknown)[] = []
afterAll(async () => {
  for (const stop of stops) await stop()
})
const provider = (answer: (request: Request) => Response | Promise<Response>) => {
  const started = startProvider(answer)
  stops.push(started.stop)
  return started
}
const json = (text = '{ "odd":\n  "spacing" }') =>
  new Response(text, { headers: { 'content-type': 'application/json' } })

describe('forwarded stream', () => {
  const streaming = { ...HELLO, stream: true }
  const headers = { 'content-type': 'text/event-stream' }
  const event = (content: string) => `data: {"choices":[{"index":0,"delta":{"content":"${content}"}}],"usage":null}\n\n`
  const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 }
  const counts = `data: ${JSON.stringify({ choices: [], usage })}\n\n`
  const DONE = 'data: [DONE]\n\n'

  test('passes on each event as it arrives', async () => {
    // The provider sends an event only once the one before it has been read.
    const texts = ['one', 'two', 'three']
    const gates = texts.map(() => Promise.withResolvers<void>())
    const { url } = provider(() => {
      async function* body() {
        for (const [index, text] of texts.entries()) {
          await gates[index]?.promise
          yield event(text)
        }
      }
      return new Response(body() as unknown as BodyInit, { headers })
    })
    const answer = backendOf({ openai: at(url) }).answer(attempt('openai/m', streaming))
    gates[0]?.resolve()
    const reply = await answer
    expect(reply.headers['content-type']).toStartWith('text/event-stream')
    const reader = readerOf(reply)
    for (const [index, text] of texts.entries()) {
      expect(await reader.next()).toBe(event(text))
      gates[index + 1]?.resolve()
    }
    expect(await reader.next()).toBeUndefined()
  })

  /** The pieces in which the provider sends a stream. */
  const cuts: [string, (text: string) => string[]][] = [
    ['in one chunk', (text) => [text]],
    ['event by event', (text) => text.split(/(?<=\n\n)/)],
    ['in chunks of 7 characters', (text) => text.match(/[\s\S]{1,7}/g) ?? []],
    ['with Windows line ends', (text) => text.replaceAll('\n', '\r\n').match(/[\s\S]{1,11}/g) ?? []],
  ]
  const streamOf = (pieces: string[]) => {
    async function* body() {
      for (const piece of pieces) yield piece
    }
    return new Response(body() as unknown as BodyInit, { headers })
  }
  describe.each(cuts)('arriving %s', (_, cut) => {
    const whole = event('Grüße') + event('zwei') + counts + DONE
    const upstream = provider(() => streamOf(cut(whole)))
    const backend = backendOf({ openai: at(upstream.url), mistral: at(upstream.url) })
    const unix = (text: string) => text.replaceAll('\r\n', '\n')

    test('is requested with usage, which a client that did not request it does not see', async () => {
      const reply = await backend.answer(attempt('openai/m', streaming))
      expect(upstream.lastJson().stream_options).toEqual({ include_usage: true })
      expect(unix(await textIn(reply))).toBe(event('Grüße') + event('zwei') + DONE)
      expect(reply.usage).toEqual(usage)
    })

    test('is passed on completely to a client that requested usage', async () => {
      const reply = await backend.answer(attempt('openai/m', { ...streaming, stream_options: { include_usage: true } }))
      expect(await textIn(reply)).toBe(cut(whole).join(''))
    })

    test('is not requested with an option that the provider rejects', async () => {
      const reply = await backend.answer(attempt('mistral/m', streaming))
      expect(upstream.lastJson()).not.toHaveProperty('stream_options')
      expect(await textIn(reply)).toBe(cut(whole).join(''))
    })
  })

  test('keeps and records the usage of a last chunk with a choice', async () => {
    const last = `data: ${JSON.stringify({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }], usage })}\n\n`
    const { url } = provider(() => streamOf([event('one'), last, DONE]))
    const reply = await backendOf({ groq: at(url) }).answer(attempt('groq/m', streaming))
    expect(await textIn(reply)).toBe(event('one') + last + DONE)
    expect(reply.usage).toEqual(usage)
  })
})

describe('broken connection', () => {
  const whole = 'HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 99\r\n\r\n'
  const breaking = (bytes: string) => {
    const { url, stop } = startBreaking(bytes)
    stops.push(stop)
    return url
  }
  const refusing = () => {
    const { url, stop } = startProvider(() => json())
    stop()
    return url
  }
  const rows: [string, () => string, RegExp][] = [
    ['http_error', refusing, /openai at http:\/\/127\.0\.0\.1:\d+: it was refused/],
    ['closed before a response', () => breaking(''), /closed/],
    ['closed within the headers', () => breaking('HTTP/1.1 200 OK\r\ncontent-'), /closed/],
    ['not TLS', () => `https${provider(() => json()).url.slice(4)}`, /TLS/],
    ['closed within an error body', () => breaking(whole.replace('200', '500')), /closed/],
  ]
  test.each(rows)('%s: rejects with the reason', async (_, url, message) => {
    const rejected = await backendOf({ openai: at(url()) })
      .answer(attempt('openai/m'))
      .catch((error: unknown) => error)
    expect(rejected).toBeInstanceOf(ConnectionFailure)
    expect((rejected as Error).message).toMatch(message)
    expect((rejected as Error).message).not.toContain(KEY)
  })

  test('closed within a stream: returns what arrived, then the read fails', async () => {
    const event = 'data: {"a":1}\n\n'
    const url = breaking(`HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: 99\r\n\r\n${event}`)
    const reader = readerOf(
      await backendOf({ openai: at(url) }).answer(attempt('openai/m', { ...HELLO, stream: true })),
    )
    const first = await reader.next().catch((error: Error) => error)
    if (typeof first === 'string') {
      expect(first).toBe(event)
      expect(await reader.next().catch((error: Error) => error)).toBeInstanceOf(Error)
    } else expect(first).toBeInstanceOf(Error)
  })
})

describe('aborted call', () => {
  const gone = new Error('the client has gone')
  const silent = () => {
    const aborted = Promise.withResolvers<void>()
    const arrived = Promise.withResolvers<void>()
    const upstream = provider((request) => {
      request.signal.addEventListener('abort', () => aborted.resolve())
      arrived.resolve()
      return new Promise(() => {})
    })
    return { ...upstream, aborted: aborted.promise, arrived: arrived.promise }
  }

  test('never reaches the provider when it was aborted before', async () => {
    const { url, seen } = silent()
    const signal = AbortSignal.abort(gone)
    const answer = backendOf({ openai: at(url) }).answer(attempt('openai/m', HELLO, { signal }))
    expect(await answer.catch((error: unknown) => error)).toBe(gone)
    expect(seen).toEqual([])
  })

  test('rejects with the reason before the response, and the provider sees it', async () => {
    const { url, aborted, arrived } = silent()
    const controller = new AbortController()
    const answer = backendOf({ openai: at(url) }).answer(attempt('openai/m', HELLO, controller))
    await arrived
    controller.abort(gone)
    expect(await answer.catch((error: unknown) => error)).toBe(gone)
    await aborted
  })

  test.each([
    ['aborting', true],
    ['canceling the body', false],
  ])('is seen by the provider within a stream, by %s', async (_, aborting) => {
    const stopped = Promise.withResolvers<void>()
    const { url } = provider((request) => {
      request.signal.addEventListener('abort', () => stopped.resolve())
      const body = new ReadableStream({ start: (controller) => controller.enqueue('data: {"a":1}\n\n') })
      return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
    })
    const controller = new AbortController()
    const streaming = { ...HELLO, stream: true }
    const reader = readerOf(await backendOf({ openai: at(url) }).answer(attempt('openai/m', streaming, controller)))
    await reader.next()
    if (aborting) {
      const next = reader.next().catch((error: unknown) => error)
      controller.abort(gone)
      expect(await next).toBe(gone)
    } else await reader.cancel()
    await stopped.promise
  })
})
