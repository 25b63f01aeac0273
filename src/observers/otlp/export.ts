// Sends spans to a collector, as OTLP/HTTP asks for it: in batches, beside the calls, and never more than fits a bounded queue.
// What a collector does not take is counted; nobody waits for it, and no call knows of it.
import { realClock } from '../../lib/clock.ts'
import { directFetch } from '../../lib/direct-fetch.ts'
import { once } from '../../lib/once.ts'
import { VERSION } from '../../version.ts'
import { CORE, SCHEMA_URL } from './conventions.ts'
import { textAttribute } from './json.ts'
import { spanQueue } from './span-queue.ts'

/** Where spans go, and how. */
export interface ExportTarget {
  url: string
  /** The same for people: without what only the collector shall know. */
  shown: string
  headers: Readonly<Record<string, string>>
  /** Longest that the collector may take for an answer, in ms. */
  timeout: number
  /** Certificates as PEM: whom to trust beside the usual, and who we are. */
  tls: { ca?: string; cert?: string; key?: string } | undefined
  /** Attributes of this program, asked for when there is something to send. */
  resource: () => Readonly<Record<string, string>>
}

/** What became of spans since the start. */
export interface ExportCounts {
  exported: number
  dropped: number
  waiting: number
  /** Why the last ones were not taken; null when they were. */
  problem: string | null
}

/** Takes spans and sends them. */
export interface SpanExporter {
  /** Takes the spans of a call, each as text. */
  add(spans: readonly string[]): void
  /** Counts spans that were never written. */
  lose(spans: number): void
  counts(): ExportCounts
  /** Sends what waits; what is not taken within so many ms is dropped. */
  stop(ms: number): Promise<void>
}

/** How long spans wait for others to go with. */
const TOGETHER_MS = 1_000
const TRIES = 5
/** Of who is stopped: the connection may have been closed just when it was used again. */
const LAST_TRIES = 2
const FIRST_WAIT_MS = 1_000
/** However long a collector asks to be left alone. */
const LONGEST_WAIT_MS = 30_000
const LONGEST_ANSWER = 64_000
/** Those that the protocol says may be repeated; no answer at all may be as well. */
const REPEATABLE = [429, 502, 503, 504]

/** What a collector made of a batch: how many it refused of those that it took, or why it took none. */
type Delivery =
  | { rejected: number; problem: string | null }
  | { problem: string; again: boolean; after?: number | undefined }

/** An exporter; `say` prints a line when things go wrong, and when they go well again. */
export function createSpanExporter(target: ExportTarget, say: (line: string) => void): SpanExporter {
  const queue = spanQueue()
  const stopping = new AbortController()
  const over = new AbortController()
  const courier = createCourier(target, { say, stopping: stopping.signal, over: over.signal })
  let onTheWay = 0
  let pumping: Promise<void> | undefined
  const pump = async (): Promise<void> => {
    while (queue.size() > 0 && !over.signal.aborted) {
      if (!queue.hasBatch()) await realClock.sleep(TOGETHER_MS, stopping.signal).catch(() => {})
      const batch = queue.take()
      onTheWay = batch.length
      await courier.deliver(batch)
      onTheWay = 0
    }
    pumping = undefined
  }
  return {
    add(spans) {
      for (const span of spans) if (!queue.add(span)) courier.counts.dropped++
      pumping ??= pump()
    },
    lose: (spans) => void (courier.counts.dropped += spans),
    counts: () => ({ ...courier.counts, waiting: queue.size() + onTheWay }),
    async stop(ms) {
      stopping.abort()
      const limit = new AbortController()
      const late = realClock.sleep(ms, limit.signal).then(
        () => over.abort(),
        () => {},
      )
      await Promise.race([pumping, late])
      limit.abort()
      over.abort()
      // What is on its way fails now, and is counted by itself.
      const lost = queue.size()
      courier.counts.dropped += lost
      queue.clear()
      await pumping
      if (lost + courier.lostLast() > 0)
        say(`understudy: telemetry: ${target.shown} has not taken the last ${lost + courier.lostLast()} spans`)
    },
  }
}

interface CourierOptions {
  say: (line: string) => void
  /** Aborted when there is no time left to wait, and when there is none left at all. */
  stopping: AbortSignal
  over: AbortSignal
}

/** Brings batches to the collector, and counts what becomes of them. */
function createCourier(target: ExportTarget, { say, stopping, over }: CourierOptions) {
  const counts: Omit<ExportCounts, 'waiting'> = { exported: 0, dropped: 0, problem: null }
  const frame = once(() => frameOf(target.resource()))
  let lostLast = 0
  const note = (problem: string | null) => {
    if ((problem === null) !== (counts.problem === null)) {
      say(
        problem === null
          ? `understudy: telemetry: ${target.shown} takes traces again`
          : `understudy: telemetry: ${target.shown} takes no traces: ${problem}; calls go on, and /_understudy/health counts what is dropped`,
      )
    }
    counts.problem = problem
  }
  return {
    counts,
    /** Spans that were dropped since the program is being stopped. */
    lostLast: () => lostLast,
    async deliver(batch: readonly string[]): Promise<void> {
      const { before, after } = frame()
      const body = `${before}${batch.join(',')}${after}`
      for (let tried = 1; ; tried++) {
        const delivery = await post(target, body, over)
        if (!('again' in delivery)) {
          const rejected = Math.min(batch.length, delivery.rejected)
          counts.exported += batch.length - rejected
          counts.dropped += rejected
          return note(delivery.problem)
        }
        if (!over.aborted) note(delivery.problem)
        if (!delivery.again || tried >= (stopping.aborted ? LAST_TRIES : TRIES)) break
        const wait = Math.min(LONGEST_WAIT_MS, delivery.after ?? FIRST_WAIT_MS * 2 ** (tried - 1))
        // Who is stopped tries once more, at once.
        await realClock.sleep(wait, stopping).catch(() => {})
      }
      counts.dropped += batch.length
      if (stopping.aborted) lostLast += batch.length
    },
  }
}

/** What stands before and after the spans of a batch. */
function frameOf(resource: Readonly<Record<string, string>>) {
  const all = { [CORE.serviceName]: 'understudy', [CORE.serviceVersion]: VERSION, ...resource }
  const attributes = Object.entries(all).map(([name, value]) => textAttribute(name, value))
  const scope = `{"name":"understudy","version":${JSON.stringify(VERSION)}}`
  return {
    before: `{"resourceSpans":[{"resource":{"attributes":[${attributes.join(',')}]},"scopeSpans":[{"scope":${scope},"schemaUrl":"${SCHEMA_URL}","spans":[`,
    after: ']}]}]}',
  }
}

async function post(target: ExportTarget, body: string, over: AbortSignal): Promise<Delivery> {
  const { url, headers, timeout, tls } = target
  try {
    const response = await directFetch(url, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json', 'user-agent': `understudy/${VERSION}` },
      body,
      // Spans go where they were meant to go, and nowhere else.
      redirect: 'manual',
      signal: AbortSignal.any([over, AbortSignal.timeout(timeout)]),
      ...(tls && { tls }),
    })
    const answer = await beginningOf(response)
    const { status } = response
    // As of a proxy or a page to log in, which would answer anything so.
    const page = /^\s*text\/html/i.test(response.headers.get('content-type') ?? '')
    if (status >= 200 && status < 300 && page)
      return { problem: `it answers ${status} with a page (text/html), as no collector does`, again: false }
    if (status >= 200 && status < 300) return partOf(answer)
    const redirected = status >= 300 && status < 400 ? ', a redirect, which is not followed' : ''
    const after = waitIn(response.headers.get('retry-after'))
    return { problem: `it answers ${status}${redirected}`, again: REPEATABLE.includes(status), after }
  } catch (error) {
    const { name, code, message } = error as { name?: string; code?: string; message: string }
    if (name === 'TimeoutError') return { problem: `no answer within ${timeout} ms`, again: true }
    return { problem: code === undefined ? message : `${meaningOf(code)} (${code})`, again: true }
  }
}

const MEANINGS: Readonly<Record<string, string>> = {
  ConnectionRefused: 'nobody answers there',
  ECONNREFUSED: 'nobody answers there',
  ENOTFOUND: 'there is no such host',
  FailedToOpenSocket: 'nobody answers there',
  CERT_HAS_EXPIRED: 'its certificate has expired',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is of another host',
}
/** What went wrong, for people. */
const meaningOf = (code: string): string =>
  MEANINGS[code] ??
  (/CERT|VERIFY|ISSUER/.test(code)
    ? 'its certificate is not trusted; OTEL_EXPORTER_OTLP_CERTIFICATE names the file of its authority'
    : 'the connection failed')

/** As much of an answer as is looked at: a collector may send what it likes. */
async function beginningOf({ body }: Response): Promise<string> {
  const reader = body?.getReader()
  const decoder = new TextDecoder()
  let text = ''
  while (reader && text.length < LONGEST_ANSWER) {
    const { done, value } = await reader.read()
    if (done) return text
    text += decoder.decode(value, { stream: true })
  }
  await reader?.cancel()
  return text
}

/** What a collector says that it did not take of a batch that it took. */
function partOf(answer: string): Delivery {
  try {
    const { partialSuccess } = JSON.parse(answer) as {
      partialSuccess?: { rejectedSpans?: unknown; errorMessage?: unknown }
    }
    const rejected = Math.max(0, Number(partialSuccess?.rejectedSpans) || 0)
    const why = String(partialSuccess?.errorMessage ?? '').slice(0, 200)
    return { rejected, problem: rejected > 0 ? `it rejected ${rejected} spans: ${why}` : null }
  } catch {
    return { rejected: 0, problem: null }
  }
}

/** The wait that a header `Retry-After` asks for, in ms: seconds or a date. */
function waitIn(header: string | null): number | undefined {
  if (header === null) return undefined
  const ms = /^\d+$/.test(header.trim()) ? Number(header) * 1_000 : Date.parse(header) - realClock.now()
  return Number.isNaN(ms) ? undefined : Math.max(0, ms)
}
