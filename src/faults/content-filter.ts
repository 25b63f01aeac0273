// content-filter: the provider takes the request or the answer for unsafe.
import { z } from 'zod'
import type { FaultContext } from '../contract/core/fault.ts'
import type { Reply } from '../contract/core/reply.ts'
import { dataEvent, encodeEvent } from '../lib/sse.ts'
import { asObject, type JsonObject, objectsIn, parsedJson } from '../lib/values.ts'
import { providerNamed } from '../providers/index.ts'
import { defineFault } from './define.ts'
import { refusal, refusalOptions } from './refusal.ts'
import { changed, isStream, mapBlocks, streamBytes, wholeBytes } from './wire.ts'

/** Tests how a client handles a response that a content filter blocked, at the start or in the middle. */
export const contentFilter = defineFault({
  type: 'content-filter',
  summary: 'A content filter blocks the request, or ends the response early.',
  points: ['provider', 'gateway'],
  inAnswer: true,
  options: {
    as: z
      .enum(['error', 'finish'])
      .optional()
      .describe(
        "A refusal, or an answer without content and with the finish reason 'content_filter'; as the provider does.",
      ),
    ...refusalOptions,
  },
  example: {},
  async apply({ as, ...given }, next, context) {
    const refused = () => {
      context.triggered()
      return refusal(context, { problem: 'content-filter' }, given)
    }
    if ((as ?? usual(context)) === 'error') return refused()
    const reply = await next()
    if (isStream(reply)) return withheldStream(reply, context)
    const withheld = await withheldWhole(reply)
    if (withheld) context.triggered()
    return withheld ?? refused()
  },
})

const usual = ({ at, provider, direct }: FaultContext) =>
  (at === 'provider' || direct) && providerNamed(provider).refusesUnsafe ? 'error' : 'finish'

const REASON = 'content_filter'

/** The answer without its content; undefined when it has no finish reason, like a vector or a picture. */
async function withheldWhole(reply: Reply): Promise<Reply | undefined> {
  const value = asObject(parsedJson(new TextDecoder().decode(await wholeBytes(reply))))
  const withheldValue = value && withheld(value)
  const { contentType } = streamBytes(reply)
  const bytes = () => new TextEncoder().encode(JSON.stringify(withheldValue))
  return withheldValue && changed(reply, { body: { kind: 'bytes', contentType, bytes: bytes() } })
}

function withheld(value: JsonObject): JsonObject | undefined {
  if (Array.isArray(value.output))
    return { ...value, status: 'incomplete', incomplete_details: { reason: REASON }, output: [], output_text: '' }
  if (!Array.isArray(value.choices)) return undefined
  const choices = objectsIn(value.choices).map(({ message, text, ...choice }) => ({
    ...choice,
    ...(message === undefined ? { text: '' } : { message: { role: 'assistant', content: '', refusal: null } }),
    logprobs: null,
    finish_reason: REASON,
  }))
  return { ...value, choices }
}

function withheldStream(reply: Reply, context: FaultContext): Reply {
  return mapBlocks(reply, context.operation, async function* (blocks) {
    let number = 0
    for await (const { text, data } of blocks) {
      if (data === undefined) yield text
      else {
        const left = chunkWithheld(data)
        if (left !== data) context.triggered()
        if (left === undefined) continue
        if (typeof left.type !== 'string') yield encodeEvent(dataEvent(left))
        else yield encodeEvent(dataEvent({ ...left, sequence_number: number++ }, { event: left.type }))
      }
    }
  })
}

/** A chunk without its content; undefined when nothing is left of it. */
function chunkWithheld(data: JsonObject): JsonObject | undefined {
  if (data.type === 'response.completed' || data.type === 'response.incomplete')
    return { ...data, type: 'response.incomplete', response: withheld(asObject(data.response) ?? {}) ?? {} }
  if (typeof data.type === 'string') return KEPT.includes(data.type) ? data : undefined
  if (!Array.isArray(data.choices) || data.choices.length === 0) return data
  const choices = objectsIn(data.choices).flatMap(({ delta, text, finish_reason: reason, ...choice }): JsonObject[] => {
    const ended = reason == null ? null : REASON
    if (text !== undefined) return [{ ...choice, text: '', logprobs: null, finish_reason: ended }]
    const role = asObject(delta)?.role
    if (role === undefined && ended === null) return []
    const left = role === undefined ? {} : { role, content: '' }
    return [{ ...choice, delta: left, logprobs: null, finish_reason: ended }]
  })
  return choices.length > 0 ? { ...data, choices } : undefined
}

const KEPT = ['response.created', 'response.in_progress', 'response.failed', 'error']
