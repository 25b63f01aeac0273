// Puts a reply on the wire: whole answers as JSON, streams as server-sent events, each flushed by itself.
import type { Making } from '../contract/operation.ts'
import type { Reply } from '../contract/reply.ts'
import { DONE, encodeEvent, type StreamEvent } from '../lib/sse.ts'
import type { Call } from './handle.ts'
import type { Recording } from './recorder.ts'

/** What an answer belongs to. */
export interface Answering {
  call: Call
  request: unknown
  making: Making
  recording: Recording
}

/** The response of a reply; its trace is committed before the answer's last byte is sent. */
export async function respond(reply: Reply, answering: Answering): Promise<Response> {
  const { call, request, making, recording } = answering
  const { operation, session } = call
  const headers: Record<string, string> = {
    'x-understudy-trace': recording.id,
    'x-understudy-attempts': '1',
    'x-understudy-fallback': '0',
    'x-understudy-cache': 'off',
    'x-understudy-model': operation.model(request),
    'x-understudy-session': session.name,
    'x-understudy-faults': '',
    'x-understudy-fixture': reply.fixture ?? 'synthesized',
    ...reply.headers,
  }
  const { status, body } = reply
  if (body.kind === 'value') {
    const answer = JSON.stringify(body.value)
    recording.contentBegan()
    const keep = operation.keep?.(request, body.value as object, making)
    await recording.end({ outcome: 'answered', status, reply, answer, ...(keep && { keep }) })
    headers['content-type'] = 'application/json'
    return new Response(answer, { status, headers })
  }
  if (body.kind === 'bytes') {
    await recording.end({ outcome: status < 400 ? 'answered' : 'refused', status, reply, answer: 'null' })
    return new Response(body.bytes as BodyInit, { status, headers })
  }
  headers['content-type'] = 'text/event-stream; charset=utf-8'
  headers['cache-control'] = 'no-cache'
  return new Response(streamBody(body.events, reply, answering), { status, headers })
}

function streamBody(
  events: Iterable<StreamEvent> | AsyncIterable<StreamEvent>,
  reply: Reply,
  { call, request, making, recording }: Answering,
): ReadableStream {
  const { operation, signal } = call
  const sent: StreamEvent[] = []
  const save = (outcome: 'answered' | 'cancelled') => {
    const answer = operation.assemble(sent)
    const keep = outcome === 'answered' ? operation.keep?.(request, answer, making) : undefined
    const ending = { outcome, status: reply.status, reply, answer: JSON.stringify(answer) }
    return recording.end({ ...ending, ...(keep && { keep }) })
  }
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
