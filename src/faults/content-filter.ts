// content-filter: the provider blocks an unsafe request or response.
import { z } from 'zod'
import type { FaultContext } from '../contract/core/fault.ts'
import type { Reply } from '../contract/core/reply.ts'
import { fingerprint } from '../lib/ids.ts'
import { asObject, type JsonObject, objectsIn } from '../lib/values.ts'
import { providerNamed } from '../providers/index.ts'
import { defineFault } from './define.ts'
import { refusal, refusalOptions } from './refusal.ts'
import { eventText, isStream, mapBlocks, wholeJson, withBytes } from './wire.ts'

/** Tests how a client handles a response that a content filter blocked, at the start or in the middle. */
export const contentFilter = defineFault({
  type: 'content-filter',
  summary: 'A content filter blocks the request, or ends the response early.',
  inAnswer: true,
  options: {
    as: z
      .enum(['error', 'finish', 'refusal'])
      .optional()
      .describe(
        '`error`: an error instead of a response. `finish`: a response without content and with the finish reason `content_filter`. `refusal`: the model declines, in the field `refusal` of a chat completion, a refusal part of a response, or with `stop_reason: refusal` at Anthropic. Default: `error` or `finish`, as the provider does.',
      ),
    ...refusalOptions,
  },
  async apply({ as, ...options }, next, context) {
    const rejected = () => {
      context.triggered()
      return refusal(context, { problem: 'content-filter' }, options)
    }
    const form = as ?? defaultForm(context)
    if (form === 'error') return rejected()
    const reply = await next()
    const declines = form === 'refusal'
    if (isStream(reply)) return changedStream(reply, context, declines ? refusingEvents : withheldEvents)
    const changed = await changedWhole(reply, declines ? refusing : withheld)
    if (changed) context.triggered()
    return changed ?? rejected()
  },
})

const defaultForm = ({ at, provider, direct }: FaultContext) =>
  (at === 'provider' || direct) && providerNamed(provider).refusesUnsafe ? 'error' : 'finish'

const REASON = 'content_filter'

/** The reply with its value changed. Undefined if it has no finish reason, such as an embedding or an image. */
async function changedWhole(reply: Reply, change: (value: JsonObject) => JsonObject | undefined) {
  const value = asObject(await wholeJson(reply))
  const other = value && change(value)
  return other && withBytes(reply, new TextEncoder().encode(JSON.stringify(other)))
}

/** A response without its content. */
function withheld(value: JsonObject): JsonObject | undefined {
  if (isMessage(value)) return { ...value, content: [], stop_reason: 'refusal' }
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

/** A stream with each of its events replaced. */
function changedStream(reply: Reply, context: FaultContext, change: (data: JsonObject) => JsonObject[]): Reply {
  return mapBlocks(reply, context.operation, async function* (blocks) {
    let number = 0
    let numbered = false
    for await (const { bytes, data } of blocks) {
      if (data === undefined) {
        yield bytes
        continue
      }
      numbered ||= 'sequence_number' in data
      const others = change(data)
      if (others.length !== 1 || others[0] !== data) context.triggered()
      for (const { type, ...fields } of others)
        yield eventText({
          ...(type !== undefined && { type }),
          ...fields,
          ...(numbered && { sequence_number: number++ }),
        })
    }
  })
}

/** The replacement of an event in a stream without content. */
function withheldEvents(data: JsonObject): JsonObject[] {
  const chunk = chunkWithheld(data)
  return chunk ? [chunk] : []
}

/** Whether a response is an Anthropic message. */
const isMessage = ({ type, content }: JsonObject): boolean => type === 'message' && Array.isArray(content)

/** A chunk without its content. Undefined if nothing remains. */
function chunkWithheld(data: JsonObject): JsonObject | undefined {
  if (data.type === 'message_delta') return { ...data, delta: { ...asObject(data.delta), stop_reason: 'refusal' } }
  if (data.type === 'response.completed' || data.type === 'response.incomplete')
    return { ...data, type: 'response.incomplete', response: withheld(asObject(data.response) ?? {}) ?? {} }
  if (typeof data.type === 'string') return KEPT.includes(data.type) ? data : undefined
  if (!Array.isArray(data.choices) || data.choices.length === 0) return data
  const choices = objectsIn(data.choices).flatMap(({ delta, text, finish_reason: reason, ...choice }): JsonObject[] => {
    const ended = reason == null ? null : REASON
    if (text !== undefined) return [{ ...choice, text: '', logprobs: null, finish_reason: ended }]
    const role = asObject(delta)?.role
    if (role === undefined && ended === null) return []
    const opening = role === undefined ? {} : { role, content: '' }
    return [{ ...choice, delta: opening, logprobs: null, finish_reason: ended }]
  })
  return choices.length > 0 ? { ...data, choices } : undefined
}

const KEPT = [
  ...['response.created', 'response.in_progress', 'response.failed', 'error'],
  ...['message_start', 'message_stop', 'ping'],
]

const REFUSAL = "I'm sorry, but I can't help with that."
/** Its pieces in a stream. */
const REFUSAL_PIECES = REFUSAL.split(/(?= )/)

/** A response in which the model declines. A text completion cannot show that, so its content is removed. */
function refusing(value: JsonObject): JsonObject | undefined {
  if (Array.isArray(value.output)) return refusingResponse(value)
  if (isMessage(value)) return { ...withheld(value), content: [{ type: 'text', text: REFUSAL }] }
  if (!Array.isArray(value.choices) || objectsIn(value.choices).some(({ text }) => text !== undefined))
    return withheld(value)
  const message = { role: 'assistant', content: null, refusal: REFUSAL }
  const choices = objectsIn(value.choices).map((choice) => ({
    ...choice,
    message,
    logprobs: null,
    finish_reason: 'stop',
  }))
  return { ...value, choices }
}

const refusingResponse = (response: JsonObject): JsonObject => ({
  ...response,
  status: 'completed',
  incomplete_details: null,
  output: [refusalItem(response)],
  output_text: '',
})

const refusalItem = ({ id }: JsonObject) => ({
  id: `msg_${fingerprint(`refusal of ${String(id)}`)}`,
  type: 'message',
  status: 'completed',
  role: 'assistant',
  content: [{ type: 'refusal', refusal: REFUSAL }],
})

/** The replacement of an event in a stream in which the model declines. */
function refusingEvents(data: JsonObject): JsonObject[] {
  if (data.type === 'response.completed' || data.type === 'response.incomplete') {
    const response = refusingResponse(asObject(data.response) ?? {})
    return [...refusalEvents(refusalItem(response)), { ...data, type: 'response.completed', response }]
  }
  const [choice] = objectsIn(data.choices)
  const empty = chunkWithheld(data)
  if (empty && data.type === 'message_delta') return [...refusalBlocks(), empty]
  if (empty === undefined || empty === data || choice?.text !== undefined) return empty ? [empty] : []
  return objectsIn(empty.choices).flatMap((one): JsonObject[] => {
    const chunk = (delta: object, finish_reason: string | null) => ({
      ...empty,
      choices: [{ ...one, delta, finish_reason }],
    })
    const { role } = asObject(one.delta) ?? {}
    const opening = role === undefined ? [] : [chunk({ role, content: null, refusal: null }, null)]
    if (one.finish_reason === null) return opening
    return [...opening, ...REFUSAL_PIECES.map((piece) => chunk({ refusal: piece }, null)), chunk({}, 'stop')]
  })
}

/** The events of a response message in which the model declines. */
function refusalEvents(item: ReturnType<typeof refusalItem>): JsonObject[] {
  const at = { output_index: 0 }
  const within = { item_id: item.id, ...at, content_index: 0 }
  const [part] = item.content
  return [
    { type: 'response.output_item.added', ...at, item: { ...item, status: 'in_progress', content: [] } },
    { type: 'response.content_part.added', ...within, part: { ...part, refusal: '' } },
    ...REFUSAL_PIECES.map((delta) => ({ type: 'response.refusal.delta', ...within, delta })),
    { type: 'response.refusal.done', ...within, refusal: REFUSAL },
    { type: 'response.content_part.done', ...within, part },
    { type: 'response.output_item.done', ...at, item },
  ]
}

/** The events of an Anthropic text block in which the model declines. */
const refusalBlocks = (): JsonObject[] => [
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
  ...REFUSAL_PIECES.map((text) => ({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } })),
  { type: 'content_block_stop', index: 0 },
]
