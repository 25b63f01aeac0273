// Puts an answer on the wire: whole answers as JSON, streams as server-sent events, each flushed by itself.
import { envelope } from '../contract/error.ts'
import { DONE, encodeEvent, type StreamEvent } from '../lib/sse.ts'
import type { Answer, Running } from './attempt.ts'
import { storing } from './cache.ts'
import { errorOf, type Failure, failureOf } from './outcome.ts'

/** The response of an answer; its trace is committed before the answer's last byte is sent. `cacheKey` when it is to be stored. */
export async function respond(answer: Answer, running: Running, cacheKey: string | undefined): Promise<Response> {
  const { recording } = running
  const headers = { ...recording.headers(answer), ...answer.from.headers }
  const { content } = answer
  if (content.kind === 'whole') {
    const { value, text = JSON.stringify(value) } = content
    await recording.end({ answer, text, ...leftBy(answer, value, running, cacheKey) })
    return new Response(text, { headers: { ...headers, 'content-type': 'application/json' } })
  }
  const stream = streamBody(content.events, { answer, running, cacheKey })
  return new Response(stream, {
    headers: { ...headers, 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' },
  })
}

type Usage = Record<string, unknown> | null

/** What a complete answer leaves for later calls, and the token counts that it says itself. */
function leftBy(answer: Answer, value: unknown, running: Running, cacheKey: string | undefined) {
  const { operation, request, making } = running
  // A text, such as subtitles, leaves nothing.
  if (typeof value !== 'object' || value === null) return { usage: answer.from.usage }
  const usage = ('usage' in value ? (value.usage as Usage) : null) ?? answer.from.usage
  const keep = [...(operation.keep?.(request, value, making) ?? [])]
  const fresh = answer.attempt !== undefined
  if (cacheKey !== undefined && fresh) {
    // A streamed answer says its usage only when asked; a whole one says what it has to.
    const stored = usage && running.stream && !('usage' in value) ? { ...value, usage } : value
    keep.push(storing(running, cacheKey, { answer: stored, model: answer.model, usage }))
  }
  return { usage: answer.from.usage ?? usage, keep }
}

interface Streaming {
  answer: Answer
  running: Running
  cacheKey: string | undefined
}

function streamBody(
  events: Iterable<StreamEvent> | AsyncIterable<StreamEvent>,
  { answer, running, cacheKey }: Streaming,
): ReadableStream {
  const { operation, signal, recording } = running
  const sent: StreamEvent[] = []
  const save = (failure?: Failure) => {
    const value = operation.assemble(sent)
    const text = JSON.stringify(value)
    if (failure) return recording.end({ answer, text, failure })
    return recording.end({ answer, text, ...leftBy(answer, value, running, cacheKey) })
  }
  const failed = (failure: Failure): StreamEvent[] => {
    const error = envelope(errorOf(failure))
    const own = operation.events?.failed?.(error, sent)
    // Those of the operation itself belong to the answer that the client has.
    sent.push(...(own ?? []))
    return own ?? [{ data: error }]
  }
  // Bun's direct stream writes text without copies and puts every flush on the wire as a chunk of its own.
  return new ReadableStream({
    type: 'direct',
    async pull(controller: ReadableStreamDirectController) {
      let failure: Failure | undefined
      try {
        for await (const event of events) {
          signal.throwIfAborted()
          if (event.tokens) answer.attempt?.contentBegan()
          sent.push(event)
          controller.write(encodeEvent(event))
          await controller.flush()
        }
        signal.throwIfAborted()
      } catch (error) {
        failure = failureOf(error, signal)
      }
      if (failure && failure.kind !== 'cancelled')
        for (const event of failed(failure)) controller.write(encodeEvent(event))
      await save(failure)
      if (!failure) controller.write(DONE)
      controller.close()
    },
  } as unknown as UnderlyingDefaultSource)
}
