// Sends requests to providers and handles their responses, for every format. Keys leave this folder only in requests.
import type { PassedCall } from '../../contract/core/backend.ts'
import { ApiError } from '../../contract/core/error.ts'
import { ConnectionFailure, type Reply, Unreadable } from '../../contract/core/reply.ts'
import { directFetch } from '../../lib/direct-fetch.ts'
import { networkReason } from '../../lib/network-error.ts'
import { secretFormsOf } from '../../lib/secret-forms.ts'
import type { Upstream } from '../../providers/endpoints.ts'
import { namesCall } from '../../providers/request-id.ts'

/** The attempt that a request to a provider belongs to. */
export interface SentAttempt extends Pick<PassedCall, 'session' | 'clock' | 'signal' | 'expire' | 'isFaulty'> {
  /** Name of the provider. */
  provider: string
  /** Name of the operation, such as `chat.completions`. */
  operation: string
  /** Name of the model at its provider. */
  model: string
}

/** What a provider has sent: status, headers, and a body that is read piece by piece. */
export interface Received {
  status: number
  headers: Headers
  body: { getReader(): ChunkReader; cancel(): Promise<void> } | null
  /** Sees what is read of the body. A reader around it would make more promises of each piece. */
  readonly observer?: BodyObserver
}

/** Sees what is read of a body, before anything in it is masked. */
export interface BodyObserver {
  piece(bytes: Uint8Array): void
  ended(): void
  broken(error: unknown): void
  /** Nobody reads on. */
  left(): void
}

/** A source of pieces. After `cancel` it ends, even during a pending read. */
export interface ChunkReader {
  read(): Promise<{ done?: boolean | undefined; value?: Uint8Array | undefined }>
  cancel(): Promise<void>
}

/** Sends one request: over the network, or to what takes its place. */
export type Transport = (url: string, init: RequestInit, attempt: SentAttempt) => Promise<Received>

/**
 * Sends requests over the network. Without a timeout, which is the gateway's task; without redirects, which would leak
 * the key; without compression, so that every event is passed on at once. The runtime does not decompress either,
 * because it has no size limit.
 */
export const network = (url: string, init: RequestInit): Promise<Response> => {
  const { method, headers: original = {}, body, signal } = init
  const headers = ACCEPTED in original ? original : unpacked(original)
  return directFetch(url, { method, headers, body, signal, redirect: 'manual', timeout: false, decompress: false })
}

/** The request header that disables compression, and its value. */
export const [ACCEPTED, UNPACKED] = ['accept-encoding', 'identity']

function unpacked(original: HeadersInit): Headers {
  const headers = new Headers(original)
  headers.set(ACCEPTED, UNPACKED)
  return headers
}

/** The result of `work`; errors are converted by `unconnected`. */
export async function connected<T>(upstream: Upstream, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw unconnected(upstream, signal, error)
  }
}

/** Whether an error is complete: one of a provider's response, or of a replay. */
export const isOwn = (error: unknown): boolean =>
  error instanceof Unreadable || error instanceof ConnectionFailure || error instanceof ApiError

/** The error for an upstream that was not reached: the signal's reason once it is aborted, otherwise a `ConnectionFailure`. */
export function unconnected({ name, key, baseUrl = '' }: Upstream, signal: AbortSignal, error: unknown): unknown {
  if (signal.aborted) return signal.reason
  if (isOwn(error)) return error
  const why = `no connection to ${name} at ${new URL(baseUrl).origin}: ${networkReason(error)}`
  return new ConnectionFailure(withoutKey(why, key))
}

/** The headers whose names pass a test. */
export function headersWith(
  headers: Pick<Headers | ReadonlyMap<string, string>, 'forEach'>,
  passes: (name: string) => boolean,
): Record<string, string> {
  const found: Record<string, string> = {}
  headers.forEach((value, name) => {
    if (passes(name)) found[name] = value
  })
  return found
}

const KEPT = /^(?:retry-after(?:-ms)?|(?:anthropic-|x-)?ratelimit-.*|content-type)$/

/** The headers of a response that concern the call: limits, retry advice, the provider's request id. */
export const keptHeaders = (headers: Parameters<typeof headersWith>[0]): Record<string, string> =>
  headersWith(headers, (name) => KEPT.test(name) || namesCall(name))

const encoder = new TextEncoder()

/** A text without the key, in case a provider repeats it. */
export const withoutKey = (text: string, key: string | undefined): string => maskedForms(text, secretFormsOf(key))

/** Fields of every provider reply. */
export const BARE = { usage: null, fixture: null, generated: false } as const

/** The reply for an error response: status and body unchanged, without the key. */
export async function errorReply(
  upstream: Upstream,
  response: UnusableResponse & Pick<Response, 'text'>,
  signal: AbortSignal,
): Promise<Reply> {
  const { status } = response
  if (status < 400) return redirected(upstream, response)
  const headers = keptHeaders(response.headers)
  const text = await connected(upstream, signal, () => response.text())
  const contentType = headers['content-type'] ?? 'text/plain'
  const bytes = encoder.encode(withoutKey(text, upstream.key))
  return { ...BARE, status, headers, provider: upstream.name, body: { kind: 'bytes', contentType, bytes } }
}

/** The parts of an unusable response that are read. */
interface UnusableResponse extends Pick<Response, 'status' | 'headers'> {
  body?: { cancel(): Promise<unknown> } | null | undefined
}

/** The reply instead of a redirect, or of another unusable response: 502 with the reason. */
export async function redirected({ name, key }: Upstream, response: UnusableResponse): Promise<Reply> {
  const { status, headers, body } = response
  // A broken body cannot be canceled, and is not needed.
  await body?.cancel().catch(() => {})
  const target = headers.get('location')
  const reason =
    target === null
      ? `${name} returned status ${status}, which is not a response to a call`
      : `${name} sent the call on to ${URL.parse(target)?.origin ?? 'another path'}, which is not followed, since the key would go with it: set that address as base_url`
  const bytes = encoder.encode(JSON.stringify({ error: { message: withoutKey(reason, key), code: 'bad_gateway' } }))
  return { ...BARE, status: 502, headers: {}, body: { kind: 'bytes', contentType: 'application/json', bytes } }
}

// Masks a provider's key in its responses, also across two pieces of a body.

const MASK = '[key]'
const MASK_BYTES = Buffer.from(MASK)
/** A text with all forms of secrets masked. */
export const maskedForms = (text: string, secrets: readonly string[]): string =>
  secrets.reduce((rest, secret) => (rest.includes(secret) ? rest.replaceAll(secret, MASK) : rest), text)

const NOTHING: Buffer = Buffer.alloc(0)

/** Masks forms of secrets in the pieces of a body. Holds back only bytes that may begin one. */
export class SecretMask {
  readonly #needles: readonly Buffer[]
  #pending = NOTHING

  constructor(secrets: readonly string[]) {
    this.#needles = secrets.map((secret) => Buffer.from(secret))
  }

  /** The bytes that can be passed on after this piece. */
  next(piece: Uint8Array): Uint8Array {
    let bytes = this.#pending.length > 0 ? Buffer.concat([this.#pending, piece]) : asBuffer(piece)
    for (const needle of this.#needles) bytes = without(bytes, needle)
    const prefixLength = Math.max(...this.#needles.map((needle) => beginningOf(bytes, needle)))
    this.#pending = bytes.subarray(bytes.length - prefixLength)
    return prefixLength === 0 ? bytes : bytes.subarray(0, bytes.length - prefixLength)
  }

  /** The bytes held back, at the end of the body. */
  end(): Uint8Array {
    const rest = this.#pending
    this.#pending = NOTHING
    return rest
  }
}

const asBuffer = ({ buffer, byteOffset, byteLength }: Uint8Array) => Buffer.from(buffer, byteOffset, byteLength)

function without(bytes: Buffer, secret: Buffer): Buffer {
  let at = bytes.indexOf(secret)
  if (at < 0) return bytes
  const parts: Buffer[] = []
  let from = 0
  for (; at >= 0; at = bytes.indexOf(secret, from)) {
    parts.push(bytes.subarray(from, at), MASK_BYTES)
    from = at + secret.length
  }
  return Buffer.concat([...parts, bytes.subarray(from)])
}

/** How many of the last bytes may begin the secret. */
function beginningOf(bytes: Buffer, secret: Buffer): number {
  const longest = Math.min(secret.length - 1, bytes.length)
  let at = bytes.indexOf(secret[0] ?? 0, bytes.length - longest)
  for (; at >= 0; at = bytes.indexOf(secret[0] ?? 0, at + 1)) {
    const length = bytes.length - at
    if (length < secret.length && bytes.subarray(at).equals(secret.subarray(0, length))) return length
  }
  return 0
}
