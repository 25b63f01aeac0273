// rate-limit: limits requests and tokens per time window, with headers that count down.
import { z } from 'zod'
import { PositiveDuration } from '../contract/core/duration.ts'
import type { FaultContext } from '../contract/core/fault.ts'
import { lowerCaseNames } from '../lib/header-text.ts'
import { providerNamed } from '../providers/index.ts'
import { type Quotas, quotaHeaders, RETRY_FORMS, retryHeaders } from '../providers/quota-headers.ts'
import { defineFault } from './define.ts'
import { errorFormatOf, refusal, refusalOptions } from './refusal.ts'
import { changed } from './wire.ts'

const MINUTE = 60_000
const UNITS = ['requests', 'tokens'] as const

/** Tests that a client reads rate-limit headers and honors `Retry-After` (RFC 9110, 10.2.3), per model and window. */
export const rateLimit = defineFault({
  type: 'rate-limit',
  summary:
    'Limits requests and tokens per time window. Rate-limit headers count down, and requests over the limit are rejected.',
  options: {
    requests: z.int().min(0).optional().describe('Requests per window and model; this or `tokens` is required.'),
    tokens: z
      .int()
      .min(0)
      .optional()
      .describe('Tokens per window and model: input tokens plus the maximum output tokens.'),
    per: PositiveDuration.default(MINUTE).describe('Length of the window. It starts with its first request.'),
    retry_after_form: z
      .enum(RETRY_FORMS)
      .optional()
      .describe("Format of the retry hint. Default: the provider's format."),
    ...refusalOptions,
  },
  needsOneOf: UNITS,
  example: { requests: 1 },
  async apply({ requests, tokens, per, retry_after_form: form, ...options }, next, context) {
    const { clock } = context
    const now = clock.now()
    const limits = { requests, tokens }
    const window = windowOf(context, per)
    const requested = { requests: 1, tokens: tokensOf(context) }
    const exceeded = UNITS.find(
      (unit) => window.used[unit] + requested[unit] > (limits[unit] ?? Number.POSITIVE_INFINITY),
    )
    if (!exceeded) for (const unit of UNITS) window.used[unit] += requested[unit]
    const provider = errorFormatOf(context, options.shape)
    const wait = window.resets - clock.passed()
    const countdown = quotaHeaders(
      providerNamed(provider).quota,
      quotasOf(limits, { ...window, resets: now + wait }),
      now,
    )
    if (!exceeded) {
      context.skipped('the quota was not exhausted')
      const reply = await next()
      return changed(reply, { headers: { ...reply.headers, ...countdown } })
    }
    context.triggered()
    const retry =
      form === undefined && !providerNamed(provider).sendsRetryAfter ? {} : retryHeaders(wait, form ?? 'seconds', now)
    return refusal(
      context,
      {
        problem: 'rate-limit',
        retryAfter: wait,
        unit: exceeded,
        limit: limits[exceeded],
        requested: requested[exceeded],
      },
      { ...options, headers: { ...countdown, ...retry, ...lowerCaseNames(options.headers) } },
    )
  },
})

interface Window {
  /** Elapsed time of the clock at the reset, in ms. */
  resets: number
  used: Record<(typeof UNITS)[number], number>
}

/** The remaining quotas of a window, which resets at a time of the clock. */
const quotasOf = (limits: Record<(typeof UNITS)[number], number | undefined>, { used, resets }: Window): Quotas =>
  Object.fromEntries(
    UNITS.flatMap((unit) => {
      const limit = limits[unit]
      return limit === undefined ? [] : [[unit, { limit, remaining: Math.max(0, limit - used[unit]), resets }]]
    }),
  )

/** The current window of the model, or a new one. */
function windowOf({ memory, model, clock }: FaultContext, length: number): Window {
  const key = `window of ${model}`
  const current = memory.get(key) as Window | undefined
  if (current && clock.passed() < current.resets) return current
  const window: Window = { resets: clock.passed() + length, used: { requests: 0, tokens: 0 } }
  memory.set(key, window)
  return window
}

const MAX_OUTPUT_FIELDS = ['max_completion_tokens', 'max_output_tokens', 'max_tokens']

/**
 * Tokens that a request is counted with before its response: input plus maximum output. The input of a forwarded request
 * that cannot be counted is 0.
 */
function tokensOf({ operation, request }: FaultContext): number {
  const fields = request as Record<string, unknown>
  const maximum = Number(
    MAX_OUTPUT_FIELDS.map((field) => fields[field]).find((value) => typeof value === 'number') ?? 0,
  )
  try {
    return (operation.promptTokens?.(request) ?? 0) + maximum
  } catch {
    return maximum
  }
}
