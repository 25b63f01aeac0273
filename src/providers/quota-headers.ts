// The headers in which providers tell when to call again and how much of a quota is left.

/** How a provider writes the time until the next call: seconds, a date, or milliseconds. */
export const RETRY_FORMS = ['seconds', 'date', 'ms'] as const
type RetryForm = (typeof RETRY_FORMS)[number]

/** When to call again: `retry-after` in whole seconds or as a date (RFC 9110, 10.2.3), or `retry-after-ms`. */
export function retryHeaders(wait: number, form: RetryForm, now: number): Record<string, string> {
  switch (form) {
    case 'seconds':
      return { 'retry-after': String(Math.ceil(wait / 1000)) }
    case 'date':
      // A date has no milliseconds: rounded up, nobody is asked to come too early.
      return { 'retry-after': new Date(Math.ceil((now + wait) / 1000) * 1000).toUTCString() }
    case 'ms':
      return { 'retry-after-ms': String(Math.ceil(wait)) }
    default:
      return form satisfies never
  }
}

/** What is left of a quota in its window. */
interface Quota {
  limit: number
  remaining: number
  /** Milliseconds since the epoch at which it is whole again. */
  resets: number
}
/** The quotas of requests and of tokens, each if there is one. */
export type Quotas = Partial<Record<'requests' | 'tokens', Quota>>

/** How a provider tells what is left of one quota, in headers; names in lower case. */
export type QuotaCountdown = (unit: 'requests' | 'tokens', quota: Quota, now: number) => Record<string, string | number>

/** A countdown of those that say nothing before a quota is used up. */
export const noCountdown: QuotaCountdown = () => ({})

/** The countdown headers of some quotas. */
export function quotaHeaders(countdown: QuotaCountdown, quotas: Quotas, now: number): Record<string, string> {
  const units = ['requests', 'tokens'] as const
  const pairs = units.flatMap((unit) => {
    const quota = quotas[unit]
    return quota ? Object.entries(countdown(unit, quota, now)) : []
  })
  return Object.fromEntries(pairs.map(([name, value]) => [name, String(value)]))
}
