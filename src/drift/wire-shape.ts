// The shape of a provider's response: its fields and their types, the order of its events, where its token counts are,
// and how it is framed. Texts, ids, times and lengths are not part of it.
import { joinFrames } from '../cassettes/frames.ts'
import type { RecordedAttempt } from '../contract/core/cassette.ts'
import { sseReader } from '../lib/sse.ts'
import { asObject, type JsonObject, parsedJson } from '../lib/values.ts'

/** A field in all the places where it occurs. */
interface FieldShape {
  /** Its JSON types, sorted and joined by `|`, such as `null|string`. */
  types: string
  /** Its values, sorted and joined by `|`, if clients decide by them; empty for any other field. */
  values: string
}

/** The shape of a response. */
export interface WireShape {
  /** Media type without parameters, in lower case. */
  contentType: string
  /** Names of the recorded headers, sorted. */
  headers: readonly string[]
  /** The fields by path, such as `choices[].message.content` or `message_delta: delta.stop_reason`. */
  fields: Record<string, FieldShape>
  /** The kinds of events, in the order in which each occurs first; empty for a whole response. */
  events: readonly string[]
  /** Where token counts are, such as `usage` or `message_delta: usage`. */
  usage: readonly string[]
  /** How events are written; absent for a whole response. */
  framing?: Framing
}

/** How the events of a stream are written. */
interface Framing {
  lines: 'LF' | 'CRLF' | 'CR' | 'mixed'
  /** Whether events have names: all, some or none of them. */
  names: 'all' | 'some' | 'none'
  hasComments: boolean
  /** Whether the last event is followed by a blank line. */
  isClosed: boolean
}

/** The kind of the end mark `[DONE]`. */
export const END_MARK = '[DONE]'
/** The kind of a chat chunk with nothing but token counts: where they are is compared, and not that there is one. */
export const USAGE_CHUNK = 'usage chunk'

/** Why the shape of a response is unknown; the message completes "the response ...". */
export class UnreadableResponse extends Error {}

/** A failure of the provider with a status of success: an error in the body or stream. The message is the provider's. */
export class ErrorInResponse extends Error {}

/**
 * The shape of a complete response.
 * @throws UnreadableResponse if it is incomplete, empty, or neither JSON nor a stream of events
 * @throws ErrorInResponse if it contains an error
 */
export function shapeOf({ response, end }: RecordedAttempt): WireShape {
  if (!response || end !== 'complete') throw new UnreadableResponse(`did not arrive whole (${end})`)
  if (response.omitted) throw new UnreadableResponse('is longer than what was recorded of it')
  const contentType = (response.headers.find(([name]) => name === 'content-type')?.[1] ?? '').split(';')[0] ?? ''
  const shape: WireShape = {
    contentType: contentType.trim().toLowerCase(),
    headers: [...new Set(response.headers.map(([name]) => name))].sort(),
    fields: {},
    events: [],
    usage: [],
  }
  const bytes = joinFrames(response.frames)
  if (bytes.length === 0) throw new UnreadableResponse('is empty')
  if (shape.contentType === 'text/event-stream') readEvents(shape, bytes)
  else if (isText(shape.contentType)) readWhole(shape, bytes)
  else shape.fields[''] = { types: 'bytes', values: '' }
  return shape
}

/** Sound and pictures have no fields. */
const isText = (contentType: string) => !/^(?:audio|image|video)\/|octet-stream/.test(contentType)

function readWhole(shape: WireShape, bytes: Uint8Array): void {
  const text = new TextDecoder().decode(bytes)
  const value = parsedJson(text)
  if (value === undefined) throw new UnreadableResponse(/^\s*</.test(text) ? 'is HTML, not JSON' : 'is not JSON')
  expectNoError(asObject(value))
  const fields = fieldsOf(shape)
  fields.add('', value)
  fields.end()
}

/** Errors are in `error`; OpenAI's `responses` puts that of a stream into `response`, or sends only `message`. */
function expectNoError(value: JsonObject | undefined): void {
  const error = asObject(value?.error) ?? asObject(asObject(value?.response)?.error)
  const failed = error ?? (value?.type === 'error' ? value : undefined)
  if (failed) throw new ErrorInResponse(typeof failed.message === 'string' ? failed.message : 'no message')
}

function readEvents(shape: WireShape, bytes: Uint8Array): void {
  const reader = sseReader()
  const blocks = [...reader.read(bytes), ...reader.end()]
  const kinds = new Set<string>()
  const fields = fieldsOf(shape)
  let named = 0
  let events = 0
  let hasComments = false
  for (const { text, event } of blocks) {
    if (/^:/m.test(text)) hasComments = true
    if (!event) continue
    events++
    if (event.event) named++
    if (event.data === END_MARK) {
      kinds.add(END_MARK)
      continue
    }
    const data = parsedJson(event.data)
    if (data === undefined)
      throw new UnreadableResponse(`has an event whose data is not JSON: ${JSON.stringify(event.data.slice(0, 80))}`)
    expectNoError(asObject(data))
    const value = withUsualEnd(data)
    const kind = kindOf(asObject(value) ?? {})
    kinds.add(kind)
    fields.add(`${kind}: `, value)
  }
  if (events === 0) throw new UnreadableResponse('is a stream without events')
  fields.end()
  shape.events = [...kinds]
  const text = new TextDecoder().decode(bytes)
  // The end mark has no name in any API.
  const nameable = events - (kinds.has(END_MARK) ? 1 : 0)
  shape.framing = {
    lines: lineEnds(text),
    names: named === 0 ? 'none' : named >= nameable ? 'all' : 'some',
    hasComments,
    isClosed: /(?:\r\n|\n|\r)(?:\r\n|\n|\r)$/.test(text),
  }
}

/** The event at the end of a response that reached the token limit, as that of any other: where one ends is up to the model. */
function withUsualEnd(data: unknown): unknown {
  const event = asObject(data)
  return event?.type === 'response.incomplete' ? { ...event, type: 'response.completed' } : data
}

function lineEnds(text: string): Framing['lines'] {
  const found = new Set(text.match(/\r\n|\n|\r/g))
  if (found.size > 1) return 'mixed'
  return found.has('\r\n') ? 'CRLF' : found.has('\r') ? 'CR' : 'LF'
}

/** The kind of an event: its type, or for a chat chunk what it carries. */
function kindOf(data: JsonObject): string {
  if (typeof data.type === 'string') return data.type
  const { choices } = data
  if (!Array.isArray(choices)) return 'event'
  const choice = asObject(choices[0])
  if (!choice) return asObject(data.usage) ? USAGE_CHUNK : 'chunk without choices'
  if (choice.finish_reason != null) return 'last chunk'
  const delta = asObject(choice.delta) ?? {}
  if (delta.tool_calls) return 'tool call chunk'
  if (delta.content || choice.text) return 'content chunk'
  if (delta.reasoning || delta.reasoning_content) return 'reasoning chunk'
  return 'first chunk'
}

/** Fields with names that a program chose: they are no part of an API. */
const FREE_FORM = new Set(['metadata', 'input', 'arguments', 'schema', 'parameters', 'properties', 'logit_bias'])
/** Fields by whose values clients decide. */
const DECIDING = new Set(['object', 'type', 'role', 'finish_reason', 'stop_reason', 'status'])
const MAX_VALUE = 64

/** Collects the fields of the values of a response. */
function fieldsOf(shape: WireShape) {
  const allTypes = new Map<string, Set<string>>()
  const values = new Map<string, Set<string>>()
  const usage = new Set<string>()
  /** Adds a value and all that is in it. */
  const add = (path: string, value: unknown): void => {
    const type = typeOf(value)
    // Values of one type are told apart by their path.
    if (path !== '' && !path.endsWith(': ') && !/[)\]]$/.test(path)) valuesAt(allTypes, path).add(type)
    if (type === 'array') for (const item of value as unknown[]) add(`${path}[${typeNameOf(item)}]`, item)
    if (type !== 'object') return
    for (const [name, inner] of Object.entries(value as JsonObject)) {
      const at = path === '' || path.endsWith(': ') ? `${path}${name}` : `${path}.${name}`
      if (name === 'usage' && asObject(inner)) usage.add(at)
      if (DECIDING.has(name) && typeof inner === 'string' && inner.length <= MAX_VALUE) valuesAt(values, at).add(inner)
      const typeName = typeNameOf(inner)
      if (FREE_FORM.has(name) || typeName === '') valuesAt(allTypes, at).add(typeOf(inner))
      if (!FREE_FORM.has(name)) add(typeName === '' ? at : `${at}(${typeName})`, inner)
    }
  }
  /** Writes what was collected to the shape. */
  const end = (): void => {
    for (const [path, types] of allTypes)
      shape.fields[path] = { types: joined(types), values: joined(values.get(path)) }
    shape.usage = [...usage].sort()
  }
  return { add, end }
}

const joined = (values: ReadonlySet<string> = new Set()) => [...values].sort().join('|')

/** The `type` of an object, whose values have different fields; empty for any other value. */
function typeNameOf(value: unknown): string {
  const type = asObject(value)?.type
  return typeof type === 'string' && type.length <= MAX_VALUE ? type : ''
}

function typeOf(value: unknown): string {
  if (value === null) return 'null'
  return Array.isArray(value) ? 'array' : typeof value
}

const valuesAt = (map: Map<string, Set<string>>, path: string): Set<string> =>
  map.getOrInsertComputed(path, () => new Set())
