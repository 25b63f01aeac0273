// What a call reveals about its client: connection, retry count, idempotency key.
import type { ClientMark, ClientNote, ClientTimeout } from '../../contract/core/finding.ts'
import { HangReset } from '../../lib/hang-reset.ts'
import { fingerprint, unguessable } from '../../lib/ids.ts'
import { questionOf, requestPrint } from '../../lib/question.ts'
import { rememberingAll } from '../../lib/remember.ts'
import type { Call } from '../call.ts'
import { isDated } from '../retry.ts'

/** Headers that count retries from 0: of SDKs, proxies and gRPC. */
const COUNTS = ['x-stainless-retry-count', 'x-retry-count', 'grpc-previous-rpc-attempts']
/** AWS counts attempts from 1: `attempt=2; max=3`. */
const AWS_ATTEMPT = /\battempt=(\d+)/

/** How a call ended for its client. */
interface CallEnded {
  status: number
  /** Headers of the response. */
  headers: Record<string, string>
  /** Whether the call succeeded: its connection was then not reset. */
  succeeded: boolean
  /** Whether the client may have the whole response all the same. */
  readable: boolean
}

/** Whether a status says by itself that a retry may help. */
const invitesRetry = (status: number): boolean => status === 408 || status === 425 || status === 429 || status >= 500

/** The client note of a call that has ended. */
export function clientNote(call: Call, { status, headers: answerHeaders, succeeded, readable }: CallEnded): ClientNote {
  const { headers, hold, session, retained, text } = call
  const note = clientMark(headers, session.secret) as ClientNote
  note.until = session.calls
  note.connection = hold?.peer?.() ?? null
  const timeout = timeoutOf(headers)
  if (timeout !== undefined) note.timeout = timeout
  const reason: unknown = !succeeded && call.aborted ? call.signal.reason : undefined
  if (reason instanceof HangReset) {
    const { limit, silence } = reason
    note.hung = { limit, ...(silence !== undefined && { silence }) }
  }
  if (!retained) {
    note.request = requestPrint(text)
    note.question = questionOf(text)
  }
  const advice = answerHeaders['x-should-retry']
  if (advice !== undefined && (advice === 'true') !== invitesRetry(status)) note.advised = true
  if (readable) note.readable = true
  if (session.clock.kind === 'virtual' && isDated(answerHeaders)) note.dated = true
  return note
}

/** Headers in which clients send their API key. */
const KEYS = ['authorization', 'x-api-key', 'api-key', 'x-goog-api-key']

/** A fingerprint of the API key of a call, without the session name in it; undefined when there is no key. */
function callerOf(headers: Headers, secret: string): string | undefined {
  for (const name of KEYS) {
    const value = headers.get(name)
    if (value !== null) return keyPrint(secret, value)
  }
  return undefined
}

/** Length of a key's fingerprint: enough to distinguish the keys of one program. */
const KEY_DIGITS = 12
/** Caches eight keys, which saves 0.7 us of a call. */
const keyPrint = rememberingAll((secret: string, value: string): string =>
  unguessable(secret, value.replace(/^Bearer\s+/i, '').replace(/#.*$/s, '')).slice(0, KEY_DIGITS),
)

/** What headers reveal about the client; `secret` prevents guessing the API key from its fingerprint. */
export function clientMark(headers: Headers, secret: string): ClientMark {
  const key = headers.get('idempotency-key')
  const mark: ClientMark = { connection: null, retry: retryOf(headers), key: key === null ? null : fingerprint(key) }
  const caller = callerOf(headers, secret)
  if (caller !== undefined) mark.caller = caller
  return mark
}

/** Headers with the client's timeout in seconds: of the SDKs of OpenAI, Anthropic and Google. */
const TIMEOUTS = ['x-stainless-timeout', 'x-stainless-read-timeout', 'x-server-timeout']
/** gRPC timeouts have units: `10S`, `500m`. */
const GRPC_TIMEOUT = /^(\d{1,8})([HMSmun])$/
const GRPC_UNITS: Record<string, number> = { H: 3_600_000, M: 60_000, S: 1_000, m: 1, u: 0.001, n: 0.000_001 }
/** Default timeout of the SDKs that send `x-stainless-*`; openai-node sends a timeout header only for a call with its own. */
const STAINLESS_DEFAULT_MS = 600_000

/** The timeout in the headers of a client; undefined when none declares it. SDKs round a timeout below one second to 0. */
export function timeoutOf(headers: Headers): ClientTimeout | undefined {
  for (const name of TIMEOUTS) {
    const seconds = Number(headers.get(name) ?? Number.NaN)
    if (seconds > 0) return { ms: seconds * 1_000 }
    if (seconds === 0) return undefined
  }
  const [, number, unit = ''] = GRPC_TIMEOUT.exec(headers.get('grpc-timeout') ?? '') ?? []
  if (number !== undefined) return { ms: Number(number) * (GRPC_UNITS[unit] ?? 0) }
  return headers.has('x-stainless-lang') ? { ms: STAINLESS_DEFAULT_MS, assumed: true } : undefined
}

function retryOf(headers: Headers): number | null {
  for (const name of COUNTS) {
    const text = headers.get(name)
    if (text !== null && /^\d{1,4}$/.test(text)) return Number(text)
  }
  const attempt = AWS_ATTEMPT.exec(headers.get('amz-sdk-request') ?? '')?.[1]
  return attempt === undefined ? null : Math.max(0, Number(attempt) - 1)
}
