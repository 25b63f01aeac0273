// Reads evidence from the formats in which it exists: cassettes, HAR, traces, status pages.
import { joinFrames } from '../cassettes/frames.ts'
import type { Cassette, RecordedAttempt } from '../contract/core/cassette.ts'
import { retryAfter } from '../gateway/retry.ts'
import { sseReader } from '../lib/sse.ts'
import { counted } from '../lib/units.ts'
import { asObject, type JsonObject, objectsIn, parsedJson, sumOf } from '../lib/values.ts'
import { PROVIDERS } from '../providers/index.ts'
import { FileError } from '../schema/source.ts'
import {
  type Evidence,
  type EvidenceAttempt,
  type EvidenceOfAttempts,
  type EvidenceOfIncident,
  type EvidenceOutcome,
  type IncidentPhase,
  inOrder,
} from './evidence.ts'

/** Every format that can be read, for messages. */
export const EVIDENCE_FORMATS = 'a cassette, traces (trace export --json), a HAR, or incidents of a status page'

/**
 * The evidence in a JSON file.
 * @param incident the id of the one to use, of a file with several incidents
 * @throws FileError if it is not JSON, of no known format, or without a call to a provider
 */
export function readEvidence(file: string, text: string, incident: string | undefined): Evidence {
  // HAR 1.2 says that readers ignore a byte order mark.
  const json = text.replace(/^\uFEFF/, '')
  const value = parsedJson(json) ?? jsonLines(json)
  if (value === undefined) throw new FileError(`${file} is not JSON: expected ${EVIDENCE_FORMATS}`)
  const root = asObject(value)
  const entries = asObject(root?.log)?.entries
  if (Array.isArray(entries)) return used(file, 'HAR', fromHar(entries))
  if (root?.incident_updates || root?.incident || root?.incidents) return fromStatusPage(file, root, incident)
  const traces = [root?.traces, root?.data, Array.isArray(value) ? value : undefined].find(Array.isArray)
  const single = root?.attempts ? [root] : undefined
  const found = objectsIn(traces ?? single).filter(({ attempts, started_at: at }) => attempts && at)
  if (found.length > 0 || traces?.length === 0) return used(file, 'traces', fromTraces(found))
  throw new FileError(`${file} is none of the known formats: expected ${EVIDENCE_FORMATS}`)
}

/** One JSON value per line, as `trace list --json` prints them. */
function jsonLines(text: string): unknown[] | undefined {
  const lines = text.split('\n').filter((line) => line.trim() !== '')
  const values = lines.map(parsedJson)
  return values.length > 0 && values.every((value) => value !== undefined) ? values : undefined
}

interface Found {
  attempts: (EvidenceAttempt & { at: number })[]
  skipped: string[]
}

function used(file: string, format: string, { attempts, skipped }: Found): EvidenceOfAttempts {
  if (attempts.length === 0) {
    const why = skipped.length > 0 ? `; ${skipped.slice(0, 3).join('; ')}` : ''
    throw new FileError(`${file} has no call to a model provider${why}`)
  }
  const startedAt = new Date(Math.min(...attempts.map(({ at }) => at))).toISOString()
  return { kind: 'attempts', format, startedAt, attempts: inOrder(attempts), skipped }
}

/** The body of an error: JSON or a text. */
const errorBody = (text: string): object | string | undefined =>
  asObject(parsedJson(text)) ?? (text === '' ? undefined : text)

// Cassettes, which have no times between their calls, only the order.

/**
 * The attempts of a cassette.
 * @throws FileError if it has none
 */
export function cassetteEvidence({ file, interactions }: Cassette): EvidenceOfAttempts {
  const attempts = interactions.flatMap(({ request: { provider, operation, model, body }, attempts: recorded }) => {
    const stream = body.kind === 'json' && asObject(body.value)?.stream === true
    return recorded.map((attempt): EvidenceAttempt => {
      return { provider, model, operation, stream, outcome: recordedOutcome(attempt, stream) }
    })
  })
  if (attempts.length === 0) throw new FileError(`${file} has no call to a model provider`)
  return { kind: 'attempts', format: 'cassette', attempts, skipped: [] }
}

function recordedOutcome({ response, end, endedAt }: RecordedAttempt, stream: boolean): EvidenceOutcome {
  if (!response)
    return end === 'reset' || end === 'cut by provider' ? { kind: 'reset' } : { kind: 'silence', ms: endedAt }
  const { status, headers, frames } = response
  const bytes = sumOf(frames, (frame) => frame.bytes.length)
  if (status >= 400) {
    const text = new TextDecoder().decode(joinFrames(frames))
    // The time at which it came, from which a date would count, is unknown.
    const wait = retryAfter(Object.fromEntries(headers), Number.NaN)
    return { kind: 'status', status, body: errorBody(text), retryAfter: wait || undefined }
  }
  if (end === 'complete' && bytes === 0) return emptyOutcome(status)
  const failed = errorIn(joinFrames(frames), stream)
  if (failed) return failed
  // Its client left because it had enough, or because nothing came any more: the first is no failure.
  return end === 'complete' || end === 'left by client' ? { kind: 'succeeded' } : { kind: 'cut', bytes }
}

/**
 * The error in a response with the status of a success, as a body or in a stream; undefined if there is none. In place of a stream, it is
 * taken for the first event.
 */
function errorIn(bytes: Uint8Array, stream: boolean): EvidenceOutcome | undefined {
  const body = asObject(parsedJson(new TextDecoder().decode(bytes)))
  if (!body) return errorInStream(bytes)
  const error = asObject(body.error)
  if (!error || RESULTS.some((name) => hasContent(body[name]))) return undefined
  return stream ? { kind: 'stream error', after: 0, ...streamErrorOf(error) } : { kind: 'error body', body }
}

/** The fields of all operations that have what was requested. */
const RESULTS = ['choices', 'content', 'data', 'output', 'output_text', 'results', 'text']
const hasContent = (value: unknown) => (Array.isArray(value) ? value.length > 0 : value != null && value !== '')

/**
 * The error in a stream of events; undefined if there is none. It is in `error`, at OpenAI's Responses API in that of `response`, or is the
 * event itself.
 */
function errorInStream(bytes: Uint8Array): EvidenceOutcome | undefined {
  const reader = sseReader()
  const events = [...reader.read(bytes), ...reader.end()].flatMap(({ event }) => event ?? [])
  for (const [after, { data }] of events.entries()) {
    const value = asObject(parsedJson(data))
    const error = asObject(value?.error) ?? asObject(asObject(value?.response)?.error)
    const failed = error ?? (value?.type === 'error' ? value : undefined)
    if (failed) return { kind: 'stream error', after, ...streamErrorOf(failed) }
  }
  return undefined
}

const streamErrorOf = ({ message, type, code }: JsonObject) => ({
  isOverloaded: /overloaded/i.test(`${type} ${code} ${message}`),
  message: typeof message === 'string' ? message : undefined,
})

/** The outcome of a success without a body, as 204 says that there is none (RFC 9110, section 15.3.5). */
const emptyOutcome = (status: number): EvidenceOutcome => ({ kind: status === 204 ? 'succeeded' : 'empty body' })

// Traces.

function fromTraces(traces: readonly JsonObject[]): Found {
  const found: Found = { attempts: [], skipped: [] }
  for (const trace of traces) {
    const start = Date.parse(String(trace.started_at))
    if (Number.isNaN(start)) {
      found.skipped.push(`trace ${trace.id}: its start is not a time`)
      continue
    }
    const retryAfter = typeof trace.retry_after_ms === 'number' ? trace.retry_after_ms : undefined
    const attempts = objectsIn(trace.attempts)
    for (const [index, attempt] of attempts.entries()) {
      const [provider = '', model] = String(attempt.target).split(/\/(.*)/s)
      const isLast = index === attempts.length - 1
      found.attempts.push({
        at: start + Number(attempt.started_ms ?? 0),
        provider,
        model,
        operation: String(trace.operation),
        stream: trace.stream === true,
        outcome: tracedOutcome(attempt, isLast ? { ...trace, retryAfter } : {}),
      })
    }
  }
  return found
}

/** The body of an error. In a trace, it may be put together from the fields of a success, of which it has none. */
function keptBody(response: unknown): JsonObject | undefined {
  const body = asObject(response)
  return body && Object.keys(body).length > 0 ? body : undefined
}

function tracedOutcome(
  attempt: JsonObject,
  { retryAfter, response, status, error }: JsonObject & { retryAfter?: number | undefined },
): EvidenceOutcome {
  const ms = Number(attempt.duration_ms ?? 0)
  switch (attempt.outcome) {
    case 'http_error':
      // Its client had the status of a success, and the error in the stream.
      if (Number(status) < 400) return { kind: 'stream error', ...streamErrorOf(asObject(error) ?? {}) }
      return { kind: 'status', status: Number(attempt.status), retryAfter, body: keptBody(response) }
    case 'canceled':
      // A client that left a stream had enough.
      return typeof attempt.first_content_ms === 'number' ? { kind: 'succeeded' } : { kind: 'silence', ms }
    case 'timed_out':
      return { kind: 'silence', ms }
    case 'disconnected':
      return attempt.first_content_ms === null ? { kind: 'reset' } : { kind: 'cut' }
    case 'invalid_response':
      return { kind: 'cut' }
    default:
      return { kind: 'succeeded' }
  }
}

// HAR (version 1.2), as browsers, Playwright and proxies write it.

const PATHS: readonly [ending: RegExp, operation: string][] = [
  [/\/chat\/completions$/, 'chat.completions'],
  [/\/messages$/, 'chat.completions'],
  [/\/responses$/, 'responses'],
  [/\/completions$/, 'completions'],
  [/\/embeddings$/, 'embeddings'],
  [/\/images\/generations$/, 'images.generations'],
  [/\/images\/edits$/, 'images.edits'],
  [/\/audio\/transcriptions$/, 'audio.transcriptions'],
  [/\/audio\/translations$/, 'audio.translations'],
  [/\/audio\/speech$/, 'audio.speech'],
  [/\/moderations$/, 'moderations'],
  [/\/rerank$/, 'rerank'],
]

function fromHar(entries: readonly unknown[]): Found {
  const found: Found = { attempts: [], skipped: [] }
  for (const [index, value] of entries.entries()) {
    const entry = asObject(value)
    const request = asObject(entry?.request)
    const url = URL.parse(String(request?.url))
    const operation = url && PATHS.find(([ending]) => ending.test(url.pathname))?.[1]
    if (!entry || !request || !url) found.skipped.push(`entry ${index} has no request with a URL`)
    else if (operation && request.method === 'POST') {
      const at = Date.parse(String(entry.startedDateTime))
      if (isBroken(asObject(asObject(entry.response)?.content)))
        found.skipped.push(`entry ${index} has a body that is not base64`)
      const target = targetOf(url, request)
      const outcome = harOutcome(entry, target.stream)
      if (Number.isNaN(at)) found.skipped.push(`entry ${index} has no startedDateTime`)
      else if (!outcome) found.skipped.push(`entry ${index} failed for an unknown reason, '${harError(entry)}'`)
      else found.attempts.push({ at, operation, ...target, outcome })
    }
  }
  return found
}

const HOSTS = new Map(
  PROVIDERS.flatMap(({ name, endpoint }) => {
    const host = endpoint?.baseUrl && URL.parse(endpoint.baseUrl)?.host
    return host ? [[host, name] as const] : []
  }),
)

function targetOf(url: URL, request: JsonObject): Pick<EvidenceAttempt, 'provider' | 'model' | 'stream'> {
  const body = asObject(parsedJson(textOf(asObject(request.postData))))
  const [before, after] = String(body?.model ?? '').split(/\/(.*)/s)
  const own = HOSTS.get(url.host) ?? (url.pathname.endsWith('/messages') ? 'anthropic' : undefined)
  // A gateway, or this program, names the provider in the model.
  const named = own === undefined && after ? before : undefined
  return {
    provider: own ?? named ?? 'openai',
    model: (named ? after : String(body?.model ?? '')) || undefined,
    stream: body?.stream === true,
  }
}

/** A text of a HAR, which can be base64. It is empty if it should be and is not. */
function textOf(content: JsonObject | undefined): string {
  const { text, encoding } = content ?? {}
  if (typeof text !== 'string' || isBroken(content)) return ''
  return encoding === 'base64' ? Buffer.from(text, 'base64').toString('utf8') : text
}

const isBroken = ({ text, encoding }: JsonObject = {}): boolean =>
  encoding === 'base64' && typeof text === 'string' && !/^[A-Za-z0-9+/\s]*={0,2}\s*$/.test(text)

/** Why a request failed, which each writer of a HAR notes in its own field and words; empty if it did not. */
function harError(entry: JsonObject): string {
  const response = asObject(entry.response)
  return String(response?._error ?? response?._failureText ?? entry._error ?? '')
}

/** Words of Chromium, Firefox, WebKit and mitmproxy for a client that left. */
const LEFT = /\bERR_ABORTED|BINDING_ABORTED|cancel|client.disconnected/i

/** The outcome of a request; undefined if its error may be no failure of the provider: the browser blocked it, for example. */
function harOutcome(entry: JsonObject, stream: boolean): EvidenceOutcome | undefined {
  const response = asObject(entry.response)
  const status = Number(response?.status ?? 0)
  const error = harError(entry)
  const ms = Math.max(0, Math.round(Number(entry.time) || 0))
  if (status <= 0) return withoutResponse(error, ms)
  if (status >= 400) {
    const body = errorBody(textOf(asObject(response?.content)))
    const wait = retryAfter(headersIn(response), Date.parse(String(entry.startedDateTime)))
    return { kind: 'status', status, body, retryAfter: wait || undefined }
  }
  if (error === '') {
    // A body that was not kept has no text; Playwright gives it the size 0.
    const { size, text } = asObject(response?.content) ?? {}
    if (size === 0 && text === '') return emptyOutcome(status)
    return errorIn(Buffer.from(textOf(asObject(response?.content))), stream) ?? { kind: 'succeeded' }
  }
  // As in a cassette, a client that left a response had enough.
  if (LEFT.test(error)) return { kind: 'succeeded' }
  // Chromium notes a connection that ended too early as an error beside a status.
  return { kind: 'cut', bytes: Buffer.byteLength(textOf(asObject(response?.content))) || undefined }
}

function withoutResponse(error: string, ms: number): EvidenceOutcome | undefined {
  if (/refused/i.test(error)) return { kind: 'refused' }
  if (/name.not.resolved|ENOTFOUND|dns/i.test(error)) return { kind: 'unknown host' }
  if (error === '' || LEFT.test(error) || /time.?d?.?out/i.test(error)) return { kind: 'silence', ms }
  if (/reset|closed|empty.response|invalid.http|connection|protocol.error|ECONN|socket/i.test(error))
    return { kind: 'reset' }
  return undefined
}

/** Headers by name in lower case. */
const headersIn = (response: JsonObject | undefined): Record<string, string> =>
  Object.fromEntries(objectsIn(response?.headers).map(({ name, value }) => [String(name).toLowerCase(), String(value)]))

// Status pages of Atlassian Statuspage, which OpenAI and Anthropic have: an incident, or a list of them.

const SHARE_OF_TITLE: readonly [name: RegExp, provider: string][] = [
  [/openai|chatgpt|gpt|dall/i, 'openai'],
  [/anthropic|claude/i, 'anthropic'],
  ...PROVIDERS.map(({ name }): [RegExp, string] => [new RegExp(`\\b${name}\\b`, 'i'), name]),
]

function fromStatusPage(file: string, root: JsonObject, wanted: string | undefined): EvidenceOfIncident {
  const single = root.incident_updates ? root : asObject(root.incident)
  const all = single ? [single] : objectsIn(root.incidents)
  const chosen = wanted === undefined ? all : all.filter(({ id }) => id === wanted)
  const [incident, ...more] = chosen
  if (!incident || more.length > 0) {
    if (all.length === 0) throw new FileError(`${file} has no incidents`)
    const listed = all.slice(0, 10).map(({ id, name }) => (typeof name === 'string' ? `${id} (${name})` : String(id)))
    throw new FileError(
      `${file} has ${counted(all.length, 'incident')}: choose one with --incident <ID>: ${listed.join(', ')}`,
    )
  }
  const updates = objectsIn(incident.incident_updates)
  const times = (status: string) =>
    updates.filter((one) => one.status === status).map((one) => Date.parse(String(one.display_at ?? one.created_at)))
  const start = Date.parse(String(incident.started_at ?? incident.created_at))
  const end = Date.parse(String(incident.resolved_at ?? '')) || Math.max(...times('resolved'), Number.NEGATIVE_INFINITY)
  if (Number.isNaN(start)) throw new FileError(`${file}: the incident has no started_at or created_at`)
  if (!Number.isFinite(end))
    throw new FileError(`${file}: the incident is not resolved: a scenario needs its end (resolved_at)`)
  if (end <= start)
    throw new FileError(`${file}: the incident ends before it begins: a scenario needs how long it lasted`)
  // A first fix may not have held.
  const lastDown = Math.max(start, ...times('investigating'), ...times('identified'))
  const fixed = Math.min(...times('monitoring').filter((time) => time > lastDown), end)
  const text = [incident.name, ...updates.map(({ body }) => body)].join(' ')
  const words = [asObject(root.page)?.name, ...objectsIn(incident.components).map(({ name }) => name), text].join(' ')
  const phases: IncidentPhase[] = [{ phase: 'down', for: fixed - start }]
  if (end > fixed) phases.push({ phase: 'recovering', for: end - fixed })
  return {
    kind: 'incident',
    title: String(incident.name ?? 'incident'),
    provider: SHARE_OF_TITLE.find(([name]) => name.test(words))?.[1] ?? 'openai',
    startedAt: new Date(start).toISOString(),
    phases,
    impact: String(incident.impact ?? 'unknown'),
    status: statusIn(text),
  }
}

/** A status of 4xx or 5xx that a text names as one. */
function statusIn(text: string): number | undefined {
  const [, found] =
    /\b(?:status|HTTP|error|code|codes|errors)?s?\s*\(?((?:4[0-3]|5[0-3])\d)\b(?!\s*(?:ms|%|users|min))/i.exec(text) ??
    []
  return found === undefined ? undefined : Number(found)
}
