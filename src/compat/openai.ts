// OpenAI's API at /v1, for unchanged programs. Model names need no provider.
import { envelope } from '../contract/core/error.ts'
import type { Wire, WireCall } from '../contract/core/wire.ts'
import { DONE_EVENT, dataEvent, type EventBatch, mapEvents, type StreamEvent } from '../lib/sse.ts'
import { asObject } from '../lib/values.ts'
import { renamed } from './names.ts'

/** Responses name a model as the request did, and errors contain nothing but `error`. */
export const openaiWire: Wire = {
  api: 'openai',
  words: 'openai',
  put(reply, call) {
    const { body } = reply
    if (body.kind === 'events') {
      return { ...reply, body: { ...body, events: mapEvents(body.events, (event) => eventFor(event, call)) } }
    }
    if (body.kind === 'bytes') return reply
    const value = renamed(body.value, call)
    return value === body.value ? reply : { ...reply, body: { kind: 'value', value } }
  },
  error(error) {
    const { error: body } = envelope(error)
    return { error: error.codeless ? { ...body, code: null } : body }
  },
}

function eventFor(event: StreamEvent, call: WireCall): EventBatch {
  // The router's streams end with an end mark, but APIs with their own last event do not.
  if (event.text === DONE_EVENT.text && call.operation.events?.last) return []
  const sent = asObject(event.data)
  if (!sent) return [event]
  const data = call.operation.events?.asOpenai?.(sent) ?? sent
  // A failure inside a stream, in the format of this API.
  if (typeof data.code === 'string' && asObject(data.error)) return [dataEvent({ error: data.error })]
  const inner = renamed(data.response, call)
  const put = inner === data.response ? renamed(data, call) : { ...data, response: inner }
  return put === sent ? [event] : [dataEvent(put, event)]
}
