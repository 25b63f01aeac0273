// Sends requests to providers and handles their responses, for every format. Keys leave this folder only in requests.
import { ConnectionFailure, type Reply, Unreadable } from '../../contract/core/reply.ts'
import { directFetch } from '../../lib/direct-fetch.ts'
import { networkReason } from '../../lib/network-error.ts'
import { secretFormsOf } from '../../lib/secret-forms.ts'
import type { Upstream } from '../../providers/endpoints.ts'
import { namesCall } from '../../providers/request-id.ts'
import { maskedForms } from './secret-forms.ts'

/** Sends one request: `fetch`, or a replacement in tests. */
export type Transport = (url: string, init: RequestInit) => Promise<Response>

/**
 * Sends requests over the network. Without a timeout, which is the gateway's task; without redirects, which would leak
 * the key; without compression, so that every event is passed on at once. The runtime does not decompress either,
 * because it has no size limit.
 */
export const network: Transport = (url, init) => {
  const { headers: original = {} } = init
  const headers = ACCEPTED in original ? original : unpacked(original)
  return directFetch(url, { ...init, headers, redirect: 'manual', timeout: false, decompress: false })
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

/** The error for an upstream that was not reached: the signal's reason once it is aborted, otherwise a `ConnectionFailure`. */
export function unconnected({ name, key, baseUrl = '' }: Upstream, signal: AbortSignal, error: unknown): unknown {
  if (signal.aborted) return signal.reason
  if (error instanceof Unreadable || error instanceof ConnectionFailure) return error
  const why = `no connection to ${name} at ${new URL(baseUrl).origin}: ${networkReason(error)}`
  return new ConnectionFailure(withoutKey(why, key))
}

const KEPT = /^(?:retry-after(?:-ms)?|(?:anthropic-|x-)?ratelimit-.*|content-type)$/

/** The headers of a response that concern the call: limits, retry advice, the provider's request id. */
export function keptHeaders(headers: Pick<Headers | ReadonlyMap<string, string>, 'forEach'>): Record<string, string> {
  const kept: Record<string, string> = {}
  headers.forEach((value, name) => {
    if (KEPT.test(name) || namesCall(name)) kept[name] = value
  })
  return kept
}

const encoder = new TextEncoder()

/** A text without the key, in case a provider repeats it. */
export const withoutKey = (text: string, key: string | undefined): string => maskedForms(text, secretFormsOf(key))

/** Fields of every provider reply. */
export const BARE = { usage: null, fixture: null, generated: false } as const

/** The reply for an error response: status and body unchanged, without the key. */
export async function errorReply(upstream: Upstream, response: Response, signal: AbortSignal): Promise<Reply> {
  const { status } = response
  if (status < 400) return unusable(upstream, await unusableMessage(upstream, response))
  const headers = keptHeaders(response.headers)
  const text = await connected(upstream, signal, () => response.text())
  const contentType = headers['content-type'] ?? 'text/plain'
  const bytes = encoder.encode(withoutKey(text, upstream.key))
  return { ...BARE, status, headers, provider: upstream.name, body: { kind: 'bytes', contentType, bytes } }
}

/** The reply instead of a redirect. */
export const redirected = async (upstream: Upstream, response: UnusableResponse): Promise<Reply> =>
  unusable(upstream, await unusableMessage(upstream, response))

/** The parts of an unusable response that are read. */
interface UnusableResponse extends Pick<Response, 'status' | 'headers'> {
  body?: { cancel(): Promise<unknown> } | null | undefined
}

async function unusableMessage({ name }: Upstream, { status, headers, body }: UnusableResponse): Promise<string> {
  // A broken body cannot be canceled, and is not needed.
  await body?.cancel().catch(() => {})
  const target = headers.get('location')
  if (target === null) return `${name} returned status ${status}, which is not a response to a call`
  return `${name} sent the call on to ${URL.parse(target)?.origin ?? 'another path'}, which is not followed, since the key would go with it: set that address as base_url`
}

/** The reply for an unusable response: 502 with the reason. */
function unusable({ key }: Upstream, reason: string): Reply {
  const bytes = encoder.encode(JSON.stringify({ error: { message: withoutKey(reason, key), code: 'bad_gateway' } }))
  return { ...BARE, status: 502, headers: {}, body: { kind: 'bytes', contentType: 'application/json', bytes } }
}
