// Providers with an OpenAI-compatible API: their bytes are passed on unchanged.
import type { BackendCall } from '../../contract/core/backend.ts'
import type { Reply } from '../../contract/core/reply.ts'
import type { Upstream } from '../../providers/endpoints.ts'
import type { ProviderResponse } from './provider-response.ts'
import { type AddressOf, outgoing } from './request.ts'
import { BARE, connected, errorReply, keptHeaders, unconnected } from './transport.ts'
import { onlyUsage } from './usage.ts'

/** How to reach an upstream. */
export interface CompatibleRoute {
  /** Sends a request and returns the provider's response, within limits. */
  receive(url: string, init: RequestInit): Promise<ProviderResponse>
  addressOf: AddressOf
}

/**
 * Forwards one attempt.
 * @throws ConnectionFailure if the provider cannot be reached
 */
export async function answerCompatible(
  upstream: Upstream,
  call: BackendCall,
  { receive, addressOf }: CompatibleRoute,
): Promise<Reply> {
  const { url, headers: sent, body, countsForUs } = outgoing(upstream, call, addressOf)
  const { signal } = call
  let response: ProviderResponse
  try {
    response = await receive(url, { method: 'POST', headers: sent, body, signal })
  } catch (error) {
    throw unconnected(upstream, signal, error)
  }
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
  if (call.operation.body === 'multipart' && !/json|html/i.test(contentType)) {
    reply.body = { kind: 'value', value: await connected(upstream, signal, () => response.text()) }
    delete reply.headers['content-type']
  }
  return reply
}
