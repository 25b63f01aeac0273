// Whether a new recording of an interaction is the old one but for times, offsets and what a provider numbers anew.
import type { Interaction, RecordedAttempt, UpstreamRequest } from '../contract/core/cassette.ts'
import { isObject, mapTexts, parsedJson } from '../lib/values.ts'
import { namesCall } from '../providers/request-id.ts'
import { isBinary, joinFrames } from './frames.ts'
import { bytesAsText } from './views.ts'

/** The ids of a provider: those of the new recording, and those that the old one has in their place. */
export type RenewedIds = ReadonlyMap<string, string>

/** What two responses are compared with. */
interface Ids {
  /** Those of responses above, which a later one may repeat: as its `previous_response_id`, for example. */
  readonly known: RenewedIds
  readonly found: Map<string, string>
}

/** Headers that change with each response: times, ids of requests, what is left of a limit. */
const CHANGING_HEADER =
  /^(?:date|age|expires|last-modified|etag|set-cookie|server-timing|via|x-served-by|content-length|x-envoy-.*|.*-processing-ms|.*-duration(?:-ms)?|x-cloud-trace-context|traceparent|.*ratelimit-.*(?:remaining|reset).*|.*(?:request|trace|correlation|response)-?id)$/
/** Fields whose values are ids. */
const ID =
  /^(?:id|(?:request|response|message|item|call|tool_call|generation|event|output|completion)_id|(?:request|response|message|item|call|toolCall|generation)Id|system_fingerprint|fingerprint|obfuscation)$/
/** Fields whose values are times or durations. */
const TIME = /^(?:created|created(?:At|Time)|createTime|\w+_at|\w+_(?:duration|time|ms)|latency)$/
/** Fields whose content is the model's, in which an id is one of the user. */
const CONTENT = /^(?:input|arguments|args|parsed|metadata|partial_json)$/

/**
 * Whether the attempts of two interactions with the same key are the same but for times, offsets, frame borders and ids
 * of the provider.
 * @param known the ids of the responses above
 * @returns the further ids of both; undefined if they are not the same
 */
export function sameAttempts(before: Interaction, now: Interaction, known: RenewedIds): RenewedIds | undefined {
  if (before.attempts.length !== now.attempts.length) return undefined
  const ids: Ids = { known, found: new Map() }
  const isSame = now.attempts.every((attempt, index) => {
    const earlier = before.attempts[index]
    return earlier !== undefined && isSameAttempt(earlier, attempt, ids)
  })
  return isSame ? ids.found : undefined
}

function isSameAttempt(before: RecordedAttempt, now: RecordedAttempt, ids: Ids): boolean {
  if (before.end !== now.end || before.reason !== now.reason) return false
  const [old, fresh] = [before.response, now.response]
  if (!old || !fresh) return old === fresh
  return (
    old.status === fresh.status &&
    old.omitted === fresh.omitted &&
    Bun.deepEquals(lasting(old.headers), lasting(fresh.headers)) &&
    isSameBody(joinFrames(old.frames), joinFrames(fresh.frames), ids)
  )
}

type Headers = NonNullable<RecordedAttempt['response']>['headers']
const lasting = (headers: Headers) => headers.filter(([name]) => !CHANGING_HEADER.test(name) && !namesCall(name))

function isSameBody(before: Uint8Array, now: Uint8Array, ids: Ids): boolean {
  const [old, fresh] = [bytesAsText(before), bytesAsText(now)]
  if (old === fresh) return true
  if (isBinary(before) || isBinary(now)) return false
  if (isSameJson(old, fresh, ids)) return true
  const oldLines = old.split('\n')
  const lines = fresh.split('\n')
  return oldLines.length === lines.length && lines.every((line, index) => isSameLine(oldLines[index] ?? '', line, ids))
}

const DATA = /^(data: ?)(\{.*\})(\r?)$/s

/** Whether two lines of an event stream are the same. */
function isSameLine(before: string, now: string, ids: Ids): boolean {
  if (before === now) return true
  const [, start, old = '', end] = DATA.exec(before) ?? []
  const [, newStart, fresh = '', newEnd] = DATA.exec(now) ?? []
  return start !== undefined && start === newStart && end === newEnd && isSameJson(old, fresh, ids)
}

function isSameJson(before: string, now: string, ids: Ids): boolean {
  const [old, fresh] = [parsedJson(before), parsedJson(now)]
  if (old === undefined || fresh === undefined) return false
  // Other white space is other framing.
  const isCompact = (text: string, value: unknown) => JSON.stringify(value).length >= text.trimEnd().length
  return isCompact(before, old) === isCompact(now, fresh) && isSameValue(old, fresh, ids)
}

function isSameValue(before: unknown, now: unknown, ids: Ids): boolean {
  if (Array.isArray(before) && Array.isArray(now))
    return before.length === now.length && now.every((item, index) => isSameValue(before[index], item, ids))
  if (!isObject(before) || !isObject(now))
    return before === now || (typeof now === 'string' && oldId(now, ids.known) === before)
  const names = Object.keys(now)
  return (
    Bun.deepEquals(Object.keys(before), names) && names.every((name) => isSameField(name, before[name], now[name], ids))
  )
}

function isSameField(name: string, before: unknown, now: unknown, ids: Ids): boolean {
  if (typeof before !== typeof now) return false
  if (CONTENT.test(name)) return Bun.deepEquals(before, now)
  if (typeof now === 'string' && typeof before === 'string' && ID.test(name)) {
    if (before !== now) ids.found.set(now, before)
    return true
  }
  if (TIME.test(name) && typeof now !== 'object') return true
  return isSameValue(before, now, ids)
}

/** Ids that are shorter are not replaced: they may be words. */
const MIN_ID = 8

const oldId = (text: string, ids: RenewedIds) => (text.length < MIN_ID ? undefined : ids.get(text))

/**
 * A request in which the ids of the new recording are those of the old one: a kept response has those, and so a client
 * that replays it sends them.
 */
export function withOldIds(request: UpstreamRequest, ids: RenewedIds): UpstreamRequest {
  const { body } = request
  if (ids.size === 0 || body.kind !== 'json') return request
  const value = mapTexts(body.value, (text) => oldId(text, ids) ?? text)
  return value === body.value ? request : { ...request, body: { kind: 'json', value } }
}
