// Failures of Anthropic and Google, and their outcomes.
import { describe, expect, test } from 'bun:test'
import { ConnectionFailure, type EventsBody, Unreadable } from '../../src/contract/core/reply.ts'
import { at, attempt, backendOf, HELLO, startProvider } from '../support/forward.ts'

describe('failure of Anthropic and Google', () => {
  const events = (...data: object[]) => data.map((one) => `data: ${JSON.stringify(one)}\n\n`).join('')
  const began = [
    { type: 'message_start', message: { id: 'm', model: 'm', usage: { input_tokens: 1, output_tokens: 0 } } },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'one' } },
  ]
  const overloaded = { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }
  const part = (text: string) => ({ candidates: [{ content: { parts: [{ text }], role: 'model' } }] })
  const CLAUDE = 'anthropic/claude-sonnet-4-5'
  const GEMINI = 'google/gemini-2.5-flash'
  /** What is told of a stream that the provider sends so. */
  const told = async (model: string, text: string) => {
    const { url, stop } = startProvider(() => new Response(text, { headers: { 'content-type': 'text/event-stream' } }))
    const provider = model.slice(0, model.indexOf('/'))
    const texts: unknown[] = []
    let failure: unknown
    try {
      const { body } = await backendOf({ [provider]: at(url) }).answer(attempt(model, { ...HELLO, stream: true }))
      for await (const batch of (body as EventsBody).events) {
        for (const { data } of batch) {
          const { choices } = data as { choices: { delta: { content?: string } }[] }
          if (choices[0]?.delta.content) texts.push(choices[0].delta.content)
        }
      }
    } catch (error) {
      failure = error
    }
    await stop()
    return { texts, failure: failure as Error & { status?: number } }
  }

  const rows: [string, string, string, string[], object][] = [
    ['an error at once', CLAUDE, events(overloaded), [], { status: 529, message: 'Overloaded (anthropic)' }],
    [
      'an error later',
      CLAUDE,
      events(...began, overloaded),
      ['one'],
      { status: 529, message: 'Overloaded (anthropic)' },
    ],
    [
      'an error later',
      GEMINI,
      events(part('one'), { error: { code: 503, message: 'busy', status: 'UNAVAILABLE' } }),
      ['one'],
      { status: 503, message: 'busy (google)' },
    ],
    [
      'an end too early',
      CLAUDE,
      events(...began),
      ['one'],
      new ConnectionFailure('anthropic ended the stream before the response was complete'),
    ],
    [
      'an end too early',
      GEMINI,
      events(part('one')),
      ['one'],
      new ConnectionFailure('google ended the stream before the response was complete'),
    ],
    ['nothing', GEMINI, '', [], new ConnectionFailure('google ended the stream before the response was complete')],
    [
      'a chunk that is not JSON',
      CLAUDE,
      `${events(...began)}data: {nope\n\n`,
      ['one'],
      new Unreadable('the response of anthropic cannot be read: JSON parsing failed: Text: {nope'),
    ],
  ]
  test.each(rows)('is reported: %s in a stream of %s', async (_, model, text, texts, failure) => {
    const result = await told(model, text)
    expect(result.texts).toEqual(texts)
    expect(result.failure).toMatchObject(failure)
    if (failure instanceof ConnectionFailure) expect(result.failure).toBeInstanceOf(ConnectionFailure)
  })

  const wholes: [string, string][] = [
    ['invalid JSON', 'nope'],
    ['another shape', '{"hello":"there"}'],
    [
      'a response that was not completed',
      '{"candidates":[{"content":{"parts":[]},"finishReason":"MALFORMED_FUNCTION_CALL"}]}',
    ],
  ]
  test.each(wholes)('is unreadable for %s', async (_, text) => {
    const { url, stop } = startProvider(() => new Response(text, { headers: { 'content-type': 'application/json' } }))
    const failure = await backendOf({ google: at(url) })
      .answer(attempt(GEMINI))
      .catch((error: unknown) => error)
    expect(failure).toBeInstanceOf(Unreadable)
    expect((failure as Error).message).toContain('google')
    await stop()
  })

  test.each([CLAUDE, GEMINI])('%s: is disconnected for a refused connection and for an aborted call', async (model) => {
    const arrived = Promise.withResolvers<void>()
    const aborted = Promise.withResolvers<void>()
    const { url, stop } = startProvider((request) => {
      request.signal.addEventListener('abort', () => aborted.resolve())
      arrived.resolve()
      return new Promise(() => {})
    })
    const backend = backendOf({ anthropic: at(url), google: at(url) })
    const controller = new AbortController()
    const gone = new Error('the client has gone')
    const answer = backend.answer(attempt(model, HELLO, controller)).catch((error: unknown) => error)
    await arrived.promise
    controller.abort(gone)
    expect(await answer).toBe(gone)
    await aborted.promise
    await stop()
    const refused = await backend.answer(attempt(model)).catch((error: unknown) => error)
    expect(refused).toBeInstanceOf(ConnectionFailure)
    expect((refused as Error).message).toContain('it was refused')
  })

  test('stops at the provider when its stream is aborted', async () => {
    const stopped = Promise.withResolvers<void>()
    const { url, stop } = startProvider((request) => {
      request.signal.addEventListener('abort', () => stopped.resolve())
      const body = new ReadableStream({ start: (controller) => controller.enqueue(events(...began)) })
      return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
    })
    const controller = new AbortController()
    const call = attempt(CLAUDE, { ...HELLO, stream: true }, controller)
    const { body } = await backendOf({ anthropic: at(url) }).answer(call)
    const gone = new Error('the client has gone')
    const reading = Array.fromAsync((body as EventsBody).events as AsyncIterable<unknown>, () => controller.abort(gone))
    expect(await reading.catch((error: unknown) => error)).toBe(gone)
    await stopped.promise
    await stop()
  })
})
