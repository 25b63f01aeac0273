// Providers with an OpenAI-compatible API: only the router's own fields are removed from a request, and the provider's
// bytes are passed on unchanged.
import type { BackendCall } from '../../contract/core/backend.ts'
import type { Reply } from '../../contract/core/reply.ts'
import { ROUTER_FIELDS } from '../../contract/core/router-fields.ts'
import { once } from '../../lib/once.ts'
import type { JsonObject } from '../../lib/values.ts'
import type { Upstream } from '../../providers/endpoints.ts'
import type { ProviderResponse } from './provider-response.ts'
import { ACCEPTED, BARE, connected, errorReply, keptHeaders, UNPACKED } from './transport.ts'
import { onlyUsage } from './usage.ts'

/** How to reach an upstream, with a function that returns the address of a request. */
export interface UpstreamRoute<Address = AddressOf> {
  /** Sends a request and returns the provider's response, within limits. Errors are converted by `unconnected`. */
  receive(url: string, init: RequestInit): Promise<ProviderResponse>
  addressOf: Address
}

/**
 * Forwards one attempt.
 * @throws ConnectionFailure if the provider cannot be reached
 */
export async function answerCompatible(
  upstream: Upstream,
  call: BackendCall,
  { receive, addressOf }: UpstreamRoute,
): Promise<Reply> {
  const { operation, model, stream, signal } = call
  const fields = fieldsFor(call)
  // Usage may be requested for the trace only, not by the client.
  const countsForUs = stream && takesUsageOption(upstream, operation) && !asksUsage(fields)
  if (countsForUs) fields.stream_options = { ...(fields.stream_options as JsonObject | null), include_usage: true }
  const isForm = operation.body === 'multipart'
  const sent = headersFor(upstream, isForm)
  const body = isForm ? formOf(fields) : JSON.stringify(fields)
  const address = addressOf(operation, bareModel(model))
  const response = await receive(address, { method: 'POST', headers: sent, body, signal })
  const { status, body: received } = response
  if (status < 200 || status > 299) return errorReply(upstream, response, signal)
  const headers = keptHeaders(response.headers)
  const contentType = headers['content-type'] ?? ''
  const reply: Reply = {
    ...BARE,
    status,
    headers,
    provider: upstream.name,
    body: { kind: 'bytes', contentType, bytes: received ?? new Uint8Array() },
  }
  if (countsForUs && received && /^text\/event-stream\b/i.test(contentType)) {
    const hides = onlyUsage((usage) => {
      reply.usage = usage
    })
    reply.body = { kind: 'bytes', contentType, bytes: received, hides }
  }
  // Subtitles and plain text: this API returns them as a JSON string. HTML comes from a proxy.
  if (isForm && !/json|html/i.test(contentType)) {
    reply.body = { kind: 'value', value: await connected(upstream, signal, () => response.text()) }
    delete reply.headers['content-type']
  }
  return reply
}

const ROUTER_FORM_FIELDS = ['enable_logging', 'diarize', 'tag_audio_events', 'num_speakers', 'timestamps_granularity']
// Providers store metadata with responses. In other operations it belongs to the trace, and some providers reject it.
const KEEPS_METADATA = 'responses'

/** The model without its provider: everything after the first slash. */
export const bareModel = (model: string): string => model.slice(model.indexOf('/') + 1)

/** Returns the URL of an operation at a provider. */
type AddressOf = (operation: Pick<BackendCall['operation'], 'path' | 'name'>, model: string) => string

function headersFor(upstream: Upstream, form: boolean): Record<string, string> {
  const own = keyHeaderOf(upstream)
  const headers: Record<string, string> = own ? Object.fromEntries([own]) : {}
  if (!form) headers['content-type'] = 'application/json'
  headers[ACCEPTED] = UNPACKED
  return headers
}

function fieldsFor({ operation, model, request }: BackendCall): JsonObject {
  const fields: JsonObject = {}
  const original = request as JsonObject
  // Copied, since deleting fields makes an object slow.
  for (const key in original) {
    if (!ROUTER_FIELDS.has(key) && (key !== 'metadata' || operation.name === KEEPS_METADATA))
      fields[key] = original[key]
  }
  fields.model = bareModel(model)
  return fields
}

const takesUsageOption = ({ countsUnasked }: Upstream, { request }: BackendCall['operation']) =>
  !countsUnasked && 'stream_options' in request.shape
const asksUsage = ({ stream_options: options }: JsonObject) =>
  (options as JsonObject | null | undefined)?.include_usage === true

/** Name and value of the header with the key; undefined without a key. */
export const keyHeaderOf = ({ key, keyHeader }: Upstream): [name: string, value: string] | undefined => {
  if (key === undefined) return undefined
  return keyHeader ? [keyHeader, key] : ['authorization', `Bearer ${key}`]
}

const ROUTER = '/v2/router'

/**
 * Returns the URLs of an upstream: the base URL, whose query is kept, and the path of the operation. The base is parsed
 * once.
 */
export function addressesOf({ baseUrl = '', address }: Upstream): AddressOf {
  if (address) {
    return ({ path, name }, model) => address(baseUrl, { operation: name, path: path.slice(ROUTER.length), model })
  }
  const base = once(() => {
    const { href } = new URL(baseUrl)
    const [before = ''] = href.split(/[?#]/, 1)
    return { before: before.replace(/\/$/, ''), after: href.slice(before.length) }
  })
  return ({ path }) => `${base().before}${path.slice(ROUTER.length)}${base().after}`
}

function formOf(fields: JsonObject): FormData {
  const form = new FormData()
  for (const [name, value] of Object.entries(fields)) {
    if (value == null || ROUTER_FORM_FIELDS.includes(name)) continue
    // A parsed file has the original as its `source`.
    const file = value instanceof File ? value : (value as { source?: unknown }).source
    if (file instanceof File) form.append(name, file, file.name)
    else form.append(name, typeof value === 'object' ? JSON.stringify(value) : String(value))
  }
  return form
}
