// Sends spans to a collector (OTLP/HTTP) in batches, in the background. A bounded queue holds the ended calls, whose spans
// are built when they are sent. What does not fit, or what the collector rejects, is dropped and counted; no call waits
// for it.
import { realClock } from '../lib/clock.ts'
import { directFetch } from '../lib/direct-fetch.ts'
import { asObject, parsedJson } from '../lib/values.ts'
import { VERSION } from '../version.ts'
import { CORE, SCHEMA_URL } from './conventions.ts'
import { attributeList, type OtlpSpan } from './span.ts'

/** Where spans are sent, and the resource. */
export interface ExportTarget {
  url: string
  /** The address without its secrets, for messages. */
  shown: string
  headers: Readonly<Record<string, string>>
  /** Timeout for the collector's response, in milliseconds. */
  timeout: number
  /** Certificates as PEM: additional authorities, and the client certificate. */
  tls: { ca?: string; cert?: string; key?: string } | undefined
  /** Attributes of this program, computed when there is something to send. */
  resource: () => Readonly<Record<string, string>>
}

/** Counts of spans since the start. */
export interface ExportCounts {
  exported: number
  dropped: number
  waiting: number
  /** Why the collector rejected the last ones; null if it accepted them. */
  problem: string | null
}

/** Spans that are not built yet. */
interface WaitingSpans {
  /** Their approximate number. */
  count: number
  /** Characters of content in them. */
  characters: number
  build(): OtlpSpan[]
}

/** Maximum number of waiting spans, and of their content. */
const MAX_WAITING = { spans: 32_768, characters: 32_000_000 }
/** Maximum size of one request. It is built in parts, between which calls are handled. */
const BATCH = { spans: 256, characters: 1_000_000 }
/** How long spans wait for others, and the pause after a full batch. */
const [GATHER_MS, PAUSE_MS] = [1_000, 500]
const MAX_ATTEMPTS = 5
/** At shutdown: the connection may have been closed just when it was reused. */
const LAST_ATTEMPTS = 2
/** The first wait for a collector, and the longest one that it may request. */
const [FIRST_WAIT_MS, MAX_WAIT_MS] = [1_000, 30_000]

/** Creates an exporter; `report` prints a line when the collector starts to fail, and when it accepts spans again. */
export function createSpanExporter(target: ExportTarget, report: (line: string) => void) {
  let queue: WaitingSpans[] = []
  const waiting = { spans: 0, characters: 0 }
  const counts: Omit<ExportCounts, 'waiting'> = { exported: 0, dropped: 0, problem: null }
  let sending = 0
  let droppedLast = 0
  let pumping: Promise<void> | undefined
  /** Aborts when there is no time left to wait, and when there is none left at all. */
  const stopping = new AbortController()
  const ended = new AbortController()

  const isFull = (limit: typeof MAX_WAITING) => waiting.spans >= limit.spans || waiting.characters >= limit.characters

  const drop = (spans: number) => {
    counts.dropped += spans
    if (stopping.signal.aborted) droppedLast += spans
  }
  const note = (problem: string | null) => {
    if ((problem === null) !== (counts.problem === null))
      report(
        problem === null
          ? `understudy: telemetry: ${target.shown} takes traces again`
          : `understudy: telemetry: ${target.shown} takes no traces: ${problem}; calls go on, and /_understudy/health counts what is dropped`,
      )
    counts.problem = problem
  }

  const takeBatch = (): OtlpSpan[] => {
    const spans: OtlpSpan[] = []
    let characters = 0
    let taken = 0
    for (const one of queue) {
      if (spans.length >= BATCH.spans || characters >= BATCH.characters) break
      spans.push(...one.build())
      characters += one.characters
      waiting.spans -= one.count
      taken++
    }
    waiting.characters -= characters
    queue = queue.slice(taken)
    return spans
  }

  const deliver = async (spans: readonly OtlpSpan[]): Promise<void> => {
    const body = JSON.stringify(exportRequest(target.resource(), spans))
    for (let attempt = 1; ; attempt++) {
      const delivery = await postToCollector(target, body, ended.signal)
      if (!('repeatable' in delivery)) {
        const rejected = Math.min(spans.length, delivery.rejected)
        counts.exported += spans.length - rejected
        counts.dropped += rejected
        return note(delivery.problem)
      }
      if (!ended.signal.aborted) note(delivery.problem)
      if (!delivery.repeatable || attempt >= (stopping.signal.aborted ? LAST_ATTEMPTS : MAX_ATTEMPTS)) break
      const wait = Math.min(MAX_WAIT_MS, delivery.wait ?? FIRST_WAIT_MS * 2 ** (attempt - 1))
      // At shutdown it is repeated once, at once.
      await realClock.sleep(wait, stopping.signal).catch(() => {})
    }
    drop(spans.length)
  }

  const pump = async (): Promise<void> => {
    while (queue.length > 0 && !ended.signal.aborted) {
      await realClock.sleep(isFull(BATCH) ? PAUSE_MS : GATHER_MS, stopping.signal).catch(() => {})
      const batch = takeBatch()
      sending = batch.length
      await deliver(batch)
      sending = 0
    }
    pumping = undefined
  }

  return {
    /**
     * Queues spans; false if there is no room, and then they are dropped. `prepare` is called only if there is room.
     */
    add(count: number, prepare: () => Omit<WaitingSpans, 'count'>): boolean {
      if (isFull(MAX_WAITING)) {
        drop(count)
        return false
      }
      const spans = { count, ...prepare() }
      queue.push(spans)
      waiting.spans += count
      waiting.characters += spans.characters
      pumping ??= pump()
      return true
    },
    /** Counts spans that were never queued. */
    drop,
    counts: (): ExportCounts => ({ ...counts, waiting: waiting.spans + sending }),
    /** Sends what waits. What the collector does not accept within `ms` milliseconds is dropped. */
    async stop(ms: number): Promise<void> {
      stopping.abort()
      const late = realClock.sleep(ms, ended.signal).catch(() => {})
      await Promise.race([pumping, late])
      ended.abort()
      // A request in progress fails now, and is counted there.
      drop(waiting.spans)
      queue = []
      waiting.spans = 0
      await pumping
      if (droppedLast > 0) report(`understudy: telemetry: ${target.shown} has not taken the last ${droppedLast} spans`)
    },
  }
}

/** The message of the protocol (`ExportTraceServiceRequest`). */
const exportRequest = (resource: Readonly<Record<string, string>>, spans: readonly OtlpSpan[]) => ({
  resourceSpans: [
    {
      resource: {
        attributes: attributeList({ [CORE.serviceName]: 'understudy', [CORE.serviceVersion]: VERSION, ...resource }),
      },
      scopeSpans: [{ scope: { name: 'understudy', version: VERSION }, schemaUrl: SCHEMA_URL, spans }],
    },
  ],
})

/**
 * The result of a batch: the number of rejected spans if it was accepted, or the error and the wait before a repeat.
 */
type Delivery =
  | { rejected: number; problem: string | null }
  | { problem: string; repeatable: boolean; wait?: number | undefined }

/** Maximum length of a response that is read, in characters. */
const MAX_RESPONSE = 64_000
/** Statuses after which the protocol allows a repeat. Without a response, a repeat is allowed, too. */
const REPEATABLE = [429, 502, 503, 504]

/** Sends JSON to a collector. It never throws; `signal` ends the request. */
async function postToCollector(target: ExportTarget, body: string, signal: AbortSignal): Promise<Delivery> {
  const { url, headers, timeout, tls } = target
  try {
    const response = await directFetch(url, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json', 'user-agent': `understudy/${VERSION}` },
      body,
      // Spans must not be sent anywhere else.
      redirect: 'manual',
      signal: AbortSignal.any([signal, AbortSignal.timeout(timeout)]),
      ...(tls && { tls }),
    })
    const text = await readBeginning(response)
    const { status } = response
    // A proxy or a login page responds so to any request.
    const page = /^\s*text\/html/i.test(response.headers.get('content-type') ?? '')
    if (status >= 200 && status < 300)
      return page
        ? { problem: `it returns ${status} with a page (text/html), as no collector does`, repeatable: false }
        : partialSuccess(text)
    const redirected = status >= 300 && status < 400 ? ', a redirect, which is not followed' : ''
    const wait = retryAfterMs(response.headers.get('retry-after'))
    return { problem: `it returns ${status}${redirected}`, repeatable: REPEATABLE.includes(status), wait }
  } catch (error) {
    const { name, code, message } = error as { name?: string; code?: string; message: string }
    if (name === 'TimeoutError') return { problem: `no response within ${timeout} ms`, repeatable: true }
    return { problem: code === undefined ? message : `${describeCode(code)} (${code})`, repeatable: true }
  }
}

const DESCRIPTIONS: Readonly<Record<string, string>> = {
  ConnectionRefused: 'connection refused',
  ECONNREFUSED: 'connection refused',
  ENOTFOUND: 'there is no such host',
  FailedToOpenSocket: 'connection refused',
  CERT_HAS_EXPIRED: 'its certificate has expired',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is of another host',
}
const describeCode = (code: string): string =>
  DESCRIPTIONS[code] ??
  (/CERT|VERIFY|ISSUER/.test(code)
    ? 'its certificate is not trusted; OTEL_EXPORTER_OTLP_CERTIFICATE names the file of its authority'
    : 'the connection failed')

async function readBeginning({ body }: Response): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  for await (const piece of body ?? []) {
    text += decoder.decode(piece, { stream: true })
    if (text.length >= MAX_RESPONSE) break
  }
  return text
}

/** What a collector rejected of an accepted batch (`ExportTracePartialSuccess`). */
function partialSuccess(text: string): Delivery {
  const found = asObject(asObject(parsedJson(text))?.partialSuccess)
  const rejected = Math.max(0, Number(found?.rejectedSpans) || 0)
  const why = String(found?.errorMessage ?? '').slice(0, 200)
  return { rejected, problem: rejected > 0 ? `it rejected ${rejected} spans: ${why}` : null }
}

/** The wait in a `Retry-After` header, seconds or a date, in milliseconds. */
function retryAfterMs(header: string | null): number | undefined {
  if (header === null) return undefined
  const ms = /^\d+$/.test(header.trim()) ? Number(header) * 1_000 : Date.parse(header) - realClock.now()
  return Number.isNaN(ms) ? undefined : Math.max(0, ms)
}
