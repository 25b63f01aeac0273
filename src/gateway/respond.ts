// Puts a reply on the wire: whole answers as JSON, streams as server-sent events, each flushed by itself.
import type { Reply } from '../contract/reply.ts'
import { DONE, encodeEvent, type StreamEvent } from '../lib/sse.ts'
import type { Call } from './handle.ts'
import type { Recording } from './recorder.ts'

/** The response of a reply; its trace is committed before the answer's last byte is sent. */
export async function respond(reply: Reply, call: Call, recording: Recording): Promise<Response> {
  const headers: Record<string, string> = {
    'x-understudy-trace': recording.id,
    'x-understudy-attempts': '1',
    'x-understudy-fallback': '0',
    'x-understudy-cache': 'off',
    'x-understudy-model': call.operation.model(call.request),
    'x-understudy-session': call.session.name,
    'x-understudy-faults': '',
    'x-understudy-fixture': reply.fixture ?? 'synthesized',
    ...reply.headers,
  }
  if (reply.body.kind === 'value') {
    const answer = JSON.stringify(reply.body.value)
    recording.contentBegan()
    await recording.end({ outcome: 'answered', status: reply.status, reply, answer })
    return new Response(answer, { status: reply.status, headers: { ...headers, 'content-type': 'application/json' } })
  }
  const stream = streamBody(reply.body.events, reply, call, recording)
  return new Response(stream, {
    status: reply.status,
    headers: { ...headers, 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' },
  })
}

function streamBody(
  events: Iterable<StreamEvent> | AsyncIterable<StreamEvent>,
  reply: Reply,
  call: Call,
  recording: Recording,
): ReadableStream {
  const { operation, signal } = call
  const sent: StreamEvent[] = []
  const save = (outcome: 'answered' | 'cancelled') =>
    recording.end({ outcome, status: reply.status, reply, answer: JSON.stringify(operation.assemble(sent)) })
  // Bun's direct stream writes text without copies and puts every flush on the wire as a chunk of its own.
  return new ReadableStream({
    type: 'direct',
    async pull(controller: ReadableStreamDirectController) {
      try {
        for await (const event of events) {
          if (signal.aborted) break
          if (event.tokens) recording.contentBegan()
          sent.push(event)
          controller.write(encodeEvent(event))
          await controller.flush()
        }
      } catch (error) {
        if (!signal.aborted) throw error
      }
      await save(signal.aborted ? 'cancelled' : 'answered')
      if (!signal.aborted) controller.write(DONE)
      controller.close()
    },
  } as unknown as UnderlyingDefaultSource)
}
