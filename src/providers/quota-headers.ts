// Retry and quota headers of providers.

/** Formats of the time until a retry: seconds, a date, or milliseconds. */
export const RETRY_FORMS = ['seconds', 'date', 'ms'] as const
type RetryForm = (typeof RETRY_FORMS)[number]

/** The retry header: `retry-after` in whole seconds or as a date (RFC 9110, 10.2.3), or `retry-after-ms`. */
export function retryHeaders(wait: number, form: RetryForm, now: number): Record<string, string> {
  switch (form) {
    case 'seconds':
      return { 'retry-after': String(Math.ceil(wait / 1000)) }
    case 'date':
      // A date has no milliseconds, so it is rounded up.
      return { 'retry-after': new Date(Math.ceil((now + wait) / 1000) * 1000).toUTCString() }
    case 'ms':
      return { 'retry-after-ms': String(Math.ceil(wait)) }
    default:
      return form satisfies never
  }
}

/** A quota in its current window. */
interface Quota {
  limit: number
  remaining: number
  /** Time of the reset, in ms since the epoch. */
  resets: number
}
/** The quotas of requests and tokens, if they are limited. */
export type Quotas = Partial<Record<'requests' | 'tokens', Quota>>

/** Creates the headers of one quota, with lowercase names. */
export type QuotaCountdown = (unit: 'requests' | 'tokens', quota: Quota, now: number) => Record<string, string | number>

/** For providers without quota headers. */
export const noCountdown: QuotaCountdown = () => ({})

/** The headers of all quotas. */
export function quotaHeaders(countdown: QuotaCountdown, quotas: Quotas, now: number): Record<string, string> {
  const units = ['requests', 'tokens'] as const
  const pairs = units.flatMap((unit) => {
    const quota = quotas[unit]
    return quota ? Object.entries(countdown(unit, quota, now)) : []
  })
  return Object.fromEntries(pairs.map(([name, value]) => [name, String(value)]))
}
