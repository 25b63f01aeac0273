// http-error: an error status instead of a response.
import { z } from 'zod'
import { Duration } from '../contract/core/duration.ts'
import type { Reply } from '../contract/core/reply.ts'
import { TypedResponseHeaders } from '../contract/core/response-headers.ts'
import { lowerCaseNames } from '../lib/header-text.ts'
import { RETRY_FORMS, retryHeaders } from '../providers/quota-headers.ts'
import { defineFault } from './define.ts'
import { errorStatus, problemOf, refusal, refusalOptions } from './refusal.ts'

/**
 * Tests retry and fallback by status: any status from 400 to 599, with the error body that the provider sends for it.
 */
export const httpError = defineFault({
  type: 'http-error',
  summary: "An HTTP error status with the provider's own error body and headers.",
  points: ['provider', 'gateway', 'workspace'],
  options: {
    status: errorStatus,
    retry_after: Duration.optional().describe('Value of `Retry-After`.'),
    retry_after_form: z.enum(RETRY_FORMS).default('seconds').describe('Format of `Retry-After`.'),
    ...refusalOptions,
    headers: TypedResponseHeaders.optional().describe('Additional headers. `content-type` is that of the body.'),
    body: z
      .union([z.string(), z.record(z.string(), z.unknown())])
      .optional()
      .describe('Replaces the default body: JSON, or a text such as the error page of a proxy.'),
  },
  example: { status: 503 },
  async apply({ status, retry_after: wait, retry_after_form: form, body, ...options }, _, context) {
    context.triggered()
    const retry = wait === undefined ? {} : retryHeaders(wait, form, context.clock.now())
    const headers = { ...retry, ...lowerCaseNames(options.headers) }
    const about = { ...problemOf(status), retryAfter: wait }
    return withBody(refusal(context, about, { ...options, headers }), body)
  },
})

/** The reply with another body, if given. A content type among the headers applies to the body. */
function withBody(reply: Reply, content: string | object | undefined): Reply {
  const { 'content-type': requestedType, ...headers } = reply.headers
  if (content === undefined && requestedType === undefined) return reply
  const text = typeof content === 'object' ? JSON.stringify(content) : content
  const defaultType =
    typeof content !== 'string' ? 'application/json' : /^\s*</.test(content) ? 'text/html' : 'text/plain'
  const currentBytes = reply.body.kind === 'bytes' ? reply.body.bytes : new Uint8Array()
  const bytes = text === undefined ? currentBytes : new TextEncoder().encode(text)
  return { ...reply, headers, body: { kind: 'bytes', contentType: requestedType ?? defaultType, bytes } }
}
