// One request to a collector (OTLP/HTTP), and the meaning of its response.
import { realClock } from '../lib/clock.ts'
import { directFetch } from '../lib/direct-fetch.ts'
import { asObject, parsedJson } from '../lib/values.ts'
import { VERSION } from '../version.ts'

/** Where spans are sent, and how. */
export interface CollectorTarget {
  url: string
  /** The address without its secrets, for messages. */
  shown: string
  headers: Readonly<Record<string, string>>
  /** Timeout for the collector's response, in milliseconds. */
  timeout: number
  /** Certificates as PEM: additional authorities, and the client certificate. */
  tls: { ca?: string; cert?: string; key?: string } | undefined
}

/**
 * The result of a batch: the number of rejected spans if it was accepted, or the error and the wait before a repeat.
 */
export type Delivery =
  | { rejected: number; problem: string | null }
  | { problem: string; repeatable: boolean; wait?: number | undefined }

/** Maximum length of a response that is read, in characters. */
const MAX_RESPONSE = 64_000
/** Statuses after which the protocol allows a repeat. Without a response, a repeat is allowed, too. */
const REPEATABLE = [429, 502, 503, 504]

/** Sends JSON to a collector. It never throws; `signal` ends the request. */
export async function postToCollector(target: CollectorTarget, body: string, signal: AbortSignal): Promise<Delivery> {
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
  const reader = body?.getReader()
  const decoder = new TextDecoder()
  let text = ''
  while (reader && text.length < MAX_RESPONSE) {
    const { done, value } = await reader.read()
    if (done) return text
    text += decoder.decode(value, { stream: true })
  }
  await reader?.cancel()
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
