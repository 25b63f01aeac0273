// Passes the request of a client of a compatible API on to its provider as it came, and what that sends back: only the key is
// exchanged, and the name of the provider before the model is left out.
import type { BackendCall, RawRequest } from '../../contract/core/backend.ts'
import type { BytesBody, Reply } from '../../contract/core/reply.ts'
import { ConnectionFailure, Unreadable } from '../../contract/core/reply.ts'
import { networkReason } from '../../lib/network-error.ts'
import type { Upstream } from '../../providers/endpoints.ts'
import type { ChunkReader, ProviderResponse } from './provider-response.ts'
import { keyHeaderOf } from './request.ts'
import { ACCEPTED, BARE, redirected, UNPACKED, unconnected } from './transport.ts'

/** Sends a request and gives what the provider sends to it, within limits. */
export type Receive = (url: string, init: RequestInit) => Promise<ProviderResponse>

/**
 * Passes one request on.
 * @throws ConnectionFailure if the provider cannot be reached
 */
export async function passOn(
  upstream: Upstream,
  { operation, signal }: Pick<BackendCall, 'operation' | 'signal'>,
  request: RawRequest,
  receive: Receive,
): Promise<Reply> {
  const { path, model } = request
  const init = { method: 'POST', headers: sentHeaders(upstream, request), body: bodyFor(request), signal }
  let response: ProviderResponse
  try {
    response = await receive(passedAddress(upstream, operation.name, { path, model: model.sent }), init)
  } catch (error) {
    throw unconnected(upstream, signal, error)
  }
  const { status } = response
  // To follow it would send the key along; nor does the client's own request belong there.
  if (status >= 300 && status <= 399) return redirected(upstream, response)
  return {
    ...BARE,
    raw: true,
    status,
    headers: passedHeaders(response),
    cookies: response.headers.getSetCookie().map(response.masked),
    body: await bodyOf(response, signal),
  }
}

// Of this connection, or of this server; a body that is not compressed is passed on when it comes.
const NOT_SENT =
  /^(?:connection|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade|expect|host|content-length|accept-encoding|authorization|x-api-key|api-key|cookie|origin|referer|sec-.*|x-understudy-.*)$/
const NOT_PASSED =
  /^(?:set-cookie|connection|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade|content-length|content-encoding|alt-svc|x-understudy-.*)$/

function sentHeaders(upstream: Upstream, { headers }: RawRequest): Record<string, string> {
  const sent: Record<string, string> = {}
  headers.forEach((value, name) => {
    if (!NOT_SENT.test(name)) sent[name] = value
  })
  const [name, value] = keyHeaderOf(upstream) ?? []
  if (name && value) sent[name.toLowerCase()] = value
  sent[ACCEPTED] = UNPACKED
  return sent
}

function passedHeaders({ headers, masked }: ProviderResponse): Record<string, string> {
  const passed: Record<string, string> = {}
  headers.forEach((value, name) => {
    if (!NOT_PASSED.test(name)) passed[name] = masked(value)
  })
  return passed
}

/** Returns the address at the upstream that a request is passed on to, with its query. */
function passedAddress(
  { baseUrl = '', address }: Upstream,
  operation: string,
  { path, model }: { path: string; model: string },
): string {
  const [pathname = '', search] = path.split(/\?(.*)/s)
  const url = new URL(address ? address(baseUrl, { operation, path: pathname, model }) : baseUrl)
  if (!address) url.pathname = url.pathname.replace(/\/$/, '') + pathname
  for (const [name, value] of new URLSearchParams(search)) url.searchParams.append(name, value)
  return url.href
}

/** A body that is there in one piece is whole, and so keeps its length; any other is passed on piece by piece. */
async function bodyOf({ headers, length, masked, body }: ProviderResponse, signal: AbortSignal): Promise<BytesBody> {
  const contentType = masked(headers.get('content-type') ?? '')
  if (!body) return { kind: 'bytes', contentType, bytes: new Uint8Array() }
  // It mostly comes with the head: while that is made ready for the client, it is read.
  const first = body.read()
  // Who goes through the pieces learns what it fails with.
  const begun = first.catch(() => undefined)
  const value = length === undefined ? undefined : (await begun)?.value
  const whole = value?.byteLength === length ? value : undefined
  return { kind: 'bytes', contentType, bytes: whole ?? piecesOf(first, body, signal) }
}

/** The pieces; what they fail with is the signal's reason, the provider's doing, or a broken connection. */
async function* piecesOf(
  first: ReturnType<ChunkReader['read']>,
  reader: ChunkReader,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  try {
    for (let step = await first; !step.done && step.value; step = await reader.read()) yield step.value
  } catch (error) {
    if (signal.aborted) throw signal.reason
    if (error instanceof Unreadable || error instanceof ConnectionFailure) throw error
    throw new ConnectionFailure(`the connection to the provider failed: ${networkReason(error)}`)
  } finally {
    // One that has broken has nothing to say about its end.
    await reader.cancel().catch(() => {})
  }
}

/** The body with the model as its provider names it, and nothing else changed. */
function bodyFor({ body, headers, model }: RawRequest): Uint8Array<ArrayBuffer> {
  const bytes = body as Uint8Array<ArrayBuffer>
  if (model.named === model.sent) return bytes
  const text = Buffer.from(bytes).toString('latin1')
  const isForm = /^multipart\//i.test(headers.get('content-type') ?? '')
  return Buffer.from(isForm ? formWith(text, model) : jsonWith(text, model), 'latin1')
}

const formWith = (text: string, { named, sent }: RawRequest['model']): string =>
  text.replace(/(name="?model"?[^\r]*(?:\r\n[^\r]+)*\r\n\r\n)([^\r]*)/, (all, head: string, value: string) =>
    value === named ? head + sent : all,
  )

/** JSON as bytes, one a character, with another value of its own `model`; others that are deeper in it stay. */
function jsonWith(text: string, { named, sent }: RawRequest['model']): string {
  for (const { 0: found, 1: head = '', 2: value = '', index } of text.matchAll(
    /("model"\s*:\s*)("(?:[^"\\]|\\.)*")/g,
  )) {
    if (JSON.parse(value) !== named) continue
    const changed = text.slice(0, index) + head + JSON.stringify(sent) + text.slice(index + found.length)
    if ((JSON.parse(changed) as { model?: unknown }).model === sent) return changed
  }
  return text
}
