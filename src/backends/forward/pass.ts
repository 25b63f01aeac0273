// Passes a client's request on to its provider unchanged, and the provider's response back. Only the key is replaced,
// and the provider is removed from the model name.

import type { BackendCall, RawRequest } from '../../contract/core/backend.ts'
import { type BytesBody, ConnectionFailure, type Reply } from '../../contract/core/reply.ts'
import { networkReason } from '../../lib/network-error.ts'
import { rememberingAll } from '../../lib/remember.ts'
import type { Upstream } from '../../providers/endpoints.ts'
import { keyHeaderOf, type UpstreamRoute } from './openai-compatible.ts'
import type { ProviderResponse } from './provider-response.ts'
import { ACCEPTED, BARE, type ChunkReader, headersWith, isOwn, redirected, UNPACKED } from './transport.ts'

/**
 * Passes one request on.
 * @throws ConnectionFailure if the provider cannot be reached
 */
export async function passOn(
  upstream: Upstream,
  { operation, signal }: Pick<BackendCall, 'operation' | 'signal'>,
  request: RawRequest,
  { receive, addressOf }: UpstreamRoute<PassedAddressOf>,
): Promise<Reply> {
  const headers = sentHeaders(upstream, request)
  const init = { method: 'POST', headers, body: bodyFor(request, headers['content-type']), signal }
  const response = await receive(addressOf(operation.name, request.path, request.model.sent), init)
  const { status, headers: received } = response
  // Following the redirect would send the key and the client's request to another server.
  if (status >= 300 && status <= 399) return redirected(upstream, response)
  const contentType = received.get('content-type') ?? ''
  return {
    ...BARE,
    raw: true,
    status,
    headers: headersWith(received, (name) => !NOT_PASSED.test(name)),
    cookies: received.getSetCookie(),
    body: { kind: 'bytes', contentType, bytes: await bytesOf(response, signal) },
  }
}

// Headers of the connection or of this server. Compression is not requested, so that every piece is passed on at once.
const NOT_SENT =
  /^(?:connection|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade|expect|host|content-length|accept-encoding|authorization|x-api-key|api-key|cookie|origin|referer|sec-.*|x-understudy-.*)$/
const NOT_PASSED =
  /^(?:set-cookie|connection|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade|content-length|content-encoding|alt-svc|x-understudy-.*)$/

function sentHeaders(upstream: Upstream, { headers }: RawRequest): Record<string, string> {
  const sent = headersWith(headers, (name) => !NOT_SENT.test(name))
  const [name, value] = keyHeaderOf(upstream) ?? []
  if (name && value) sent[name.toLowerCase()] = value
  sent[ACCEPTED] = UNPACKED
  return sent
}

/** Returns the URL for an operation, the path and query of its request, and a model. */
type PassedAddressOf = (operation: string, path: string, model: string) => string

/** Returns the URLs of an upstream for requests that are passed on. Eight are cached, which saves 0.7 us of a call. */
export const passedAddressesOf = ({ baseUrl = '', address }: Upstream): PassedAddressOf =>
  rememberingAll((operation: string, path: string, model: string) => {
    const [pathname = '', search] = path.split(/\?(.*)/s)
    const url = new URL(address ? address(baseUrl, { operation, path: pathname, model }) : baseUrl)
    if (!address) url.pathname = url.pathname.replace(/\/$/, '') + pathname
    if (search) url.search = url.search ? `${url.search}&${search}` : search
    return url.href
  })

/** A body that arrives in one piece keeps its length; any other is passed on piece by piece. */
async function bytesOf({ length, body }: ProviderResponse, signal: AbortSignal): Promise<BytesBody['bytes']> {
  if (!body) return new Uint8Array()
  // Usually arrives with the headers, so it is read while those are prepared for the client.
  const first = body.read()
  // A failure is thrown again when the pieces are read.
  const begun = first.catch(() => undefined)
  const value = length === undefined ? undefined : (await begun)?.value
  return value?.byteLength === length && value ? value : piecesOf(first, body, signal)
}

/** The pieces; errors are the signal's reason, the provider's own, or a broken connection. */
async function* piecesOf(
  first: ReturnType<ChunkReader['read']>,
  reader: ChunkReader,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  try {
    for (let step = await first; !step.done && step.value; step = await reader.read()) yield step.value
  } catch (error) {
    if (signal.aborted) throw signal.reason
    if (isOwn(error)) throw error
    throw new ConnectionFailure(`the connection to the provider failed: ${networkReason(error)}`)
  } finally {
    // An error while canceling a broken body does not matter.
    await reader.cancel().catch(() => {})
  }
}

/** The body with the model as its provider names it; everything else stays unchanged. */
function bodyFor({ body, text, model }: RawRequest, contentType: string | undefined): string | Uint8Array<ArrayBuffer> {
  const bytes = body as Uint8Array<ArrayBuffer>
  if (model.named === model.sent) return bytes
  // Without a content type, the runtime would add that of a text.
  if (text !== undefined && contentType) return jsonWith(text, model)
  const characters = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1')
  const isForm = /^multipart\//i.test(contentType ?? '')
  return Buffer.from(isForm ? formWith(characters, model) : jsonWith(characters, model), 'latin1')
}

const formWith = (text: string, { named, sent }: RawRequest['model']): string =>
  text.replace(/(name="?model"?[^\r]*(?:\r\n[^\r]+)*\r\n\r\n)([^\r]*)/, (all, head: string, value: string) =>
    value === named ? head + sent : all,
  )

/** JSON, as text or with a byte per character, with another value for its top-level `model`; nested ones stay. */
function jsonWith(text: string, { named, sent }: RawRequest['model']): string {
  const isOnly = text.indexOf(MODEL) === text.lastIndexOf(MODEL) && !text.includes(ESCAPED)
  for (const { 0: found, 1: head = '', 2: value = '', index } of text.matchAll(
    /("model"\s*:\s*)("(?:[^"\\]|\\.)*")/g,
  )) {
    if (JSON.parse(value) !== named) continue
    const changed = text.slice(0, index) + head + JSON.stringify(sent) + text.slice(index + found.length)
    if (isOnly || (JSON.parse(changed) as { model?: unknown }).model === sent) return changed
  }
  return text
}
const MODEL = '"model"'
/** How JSON may escape a letter of the name: another field may then be the top-level one. */
const ESCAPED = '\\u006'
