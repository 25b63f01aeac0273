// The way to a provider and back: what is common to every wire format. Keys never leave this folder in another direction.
import { ConnectionFailure, type Reply, Unreadable } from '../../contract/core/reply.ts'
import { directFetch } from '../../lib/direct-fetch.ts'
import { networkReason } from '../../lib/network-error.ts'
import type { Upstream } from '../../providers/endpoints.ts'
import { namesCall } from '../../providers/request-id.ts'
import { maskedForms, secretFormsOf } from './secret-forms.ts'

/** Sends one request; `fetch`, or what a test puts in its place. */
export type Transport = (url: string, init: RequestInit) => Promise<Response>

/**
 * The network. No time limit of its own, since the gateway keeps the time; redirects are not followed, since the key would
 * go with them; answers come unpacked, so that each event of a stream is passed on when it comes, and one that is packed all the
 * same is not unpacked by the runtime, which has no limit.
 */
export const network: Transport = (url, init) => {
  const { headers: given = {} } = init
  const headers = ACCEPTED in given ? given : unpacked(given)
  return directFetch(url, { ...init, headers, redirect: 'manual', timeout: false, decompress: false })
}

/** The header, and its value, by which answers come unpacked. */
export const [ACCEPTED, UNPACKED] = ['accept-encoding', 'identity']

function unpacked(given: HeadersInit): Headers {
  const headers = new Headers(given)
  headers.set(ACCEPTED, UNPACKED)
  return headers
}

/**
 * What `work` gives; what it throws is as `unconnected` has it.
 * @throws ConnectionFailure if the provider cannot be reached, the signal's reason if that aborts
 */
export async function connected<T>(upstream: Upstream, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw unconnected(upstream, signal, error)
  }
}

/** What it means that an upstream was not reached: the signal's reason once that is aborted, else a `ConnectionFailure`. */
export function unconnected({ name, key, baseUrl = '' }: Upstream, signal: AbortSignal, error: unknown): unknown {
  if (signal.aborted) return signal.reason
  if (error instanceof Unreadable || error instanceof ConnectionFailure) return error
  const why = `no connection to ${name} at ${new URL(baseUrl).origin}: ${networkReason(error)}`
  return new ConnectionFailure(withoutKey(why, key))
}

const KEPT = /^(?:retry-after(?:-ms)?|(?:anthropic-|x-)?ratelimit-.*|content-type)$/

/** The headers of an answer that say something about the call: limits, when to come again, the provider's request id. */
export function keptHeaders(headers: Pick<Headers | ReadonlyMap<string, string>, 'forEach'>): Record<string, string> {
  const kept: Record<string, string> = {}
  headers.forEach((value, name) => {
    if (KEPT.test(name) || namesCall(name)) kept[name] = value
  })
  return kept
}

const encoder = new TextEncoder()

/** A text without the key, should a provider have repeated it. */
export const withoutKey = (text: string, key: string | undefined): string => maskedForms(text, secretFormsOf(key))

/** What every reply of a provider has. */
export const BARE = { usage: null, fixture: null, generated: false } as const

/** The reply of an answer that is no success: its status and body as they came, less the key. */
export async function errorReply(upstream: Upstream, response: Response, signal: AbortSignal): Promise<Reply> {
  const { status } = response
  if (status < 400) return unusable(upstream, await strayMessage(upstream, response))
  const headers = keptHeaders(response.headers)
  const text = await connected(upstream, signal, () => response.text())
  const contentType = headers['content-type'] ?? 'text/plain'
  const bytes = encoder.encode(withoutKey(text, upstream.key))
  return { ...BARE, status, headers, provider: upstream.name, body: { kind: 'bytes', contentType, bytes } }
}

/** The reply in place of one that sends the client somewhere else. */
export const redirected = async (upstream: Upstream, response: StrayResponse): Promise<Reply> =>
  unusable(upstream, await strayMessage(upstream, response))

/** What is looked at of a response that answers no call. */
interface StrayResponse extends Pick<Response, 'status' | 'headers'> {
  body?: { cancel(): Promise<unknown> } | null | undefined
}

async function strayMessage({ name }: Upstream, { status, headers, body }: StrayResponse): Promise<string> {
  // A body that has broken meanwhile cannot be canceled, and nobody reads it.
  await body?.cancel().catch(() => {})
  const target = headers.get('location')
  if (target === null) return `${name} answered with status ${status}, which is not an answer to a call`
  return `${name} sent the call on to ${URL.parse(target)?.origin ?? 'another path'}, which is not followed, since the key would go with it: set that address as base_url`
}

/** The reply for an answer that came, and that nobody can use: 502 with the reason. */
function unusable({ key }: Upstream, reason: string): Reply {
  const bytes = encoder.encode(JSON.stringify({ error: { message: withoutKey(reason, key), code: 'bad_gateway' } }))
  return { ...BARE, status: 502, headers: {}, body: { kind: 'bytes', contentType: 'application/json', bytes } }
}
