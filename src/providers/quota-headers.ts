// The headers in which providers tell when to call again and how much of a quota is left.

export const RETRY_FORMS = ['seconds', 'date', 'ms'] as const
export type RetryForm = (typeof RETRY_FORMS)[number]

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
export interface Quota {
  limit: number
  remaining: number
  /** Milliseconds since the epoch at which it is whole again. */
  resets: number
}
/** The quotas of requests and of tokens, each if there is one. */
export type Quotas = Partial<Record<'requests' | 'tokens', Quota>>

type Countdown = (unit: 'requests' | 'tokens', quota: Quota, now: number) => Record<string, string | number>

const openai: Countdown = (unit, { limit, remaining, resets }, now) => ({
  [`x-ratelimit-limit-${unit}`]: limit,
  [`x-ratelimit-remaining-${unit}`]: remaining,
  [`x-ratelimit-reset-${unit}`]: span(resets - now),
})
const anthropic: Countdown = (unit, { limit, remaining, resets }) => ({
  [`anthropic-ratelimit-${unit}-limit`]: limit,
  [`anthropic-ratelimit-${unit}-remaining`]: remaining,
  [`anthropic-ratelimit-${unit}-reset`]: new Date(resets).toISOString().replace(/\.\d+/, ''),
})
const mistral: Countdown = (unit, { limit, remaining }) => {
  const name = unit === 'requests' ? 'req' : 'tokens'
  return { [`x-ratelimit-limit-${name}-minute`]: limit, [`x-ratelimit-remaining-${name}-minute`]: remaining }
}
const cohere: Countdown = (unit, { limit, remaining }) =>
  unit === 'requests'
    ? { 'x-trial-endpoint-call-limit': limit, 'x-trial-endpoint-call-remaining': remaining }
    : ({} as Record<string, number>)
/** Google and Bedrock say nothing before a quota is used up. */
const silent: Countdown = () => ({})

const FAMILIES: Readonly<Record<string, Countdown>> = { anthropic, aws: silent, cohere, google: silent, mistral }

/** The countdown headers of a provider, names in lower case; one that is not listed sends those of OpenAI. */
export function quotaHeaders(provider: string, quotas: Quotas, now: number): Record<string, string> {
  const countdown = FAMILIES[provider] ?? openai
  const units = ['requests', 'tokens'] as const
  const pairs = units.flatMap((unit) => {
    const quota = quotas[unit]
    return quota ? Object.entries(countdown(unit, quota, now)) : []
  })
  return Object.fromEntries(pairs.map(([name, value]) => [name, String(value)]))
}

/** `6m0s`, `1s`, `20ms`: as OpenAI writes lengths of time. */
function span(ms: number): string {
  if (ms < 1000) return `${ms}ms`
  const total = ms / 1000
  const minutes = Math.floor(total / 60)
  return `${minutes > 0 ? `${minutes}m` : ''}${Math.round((total - minutes * 60) * 1000) / 1000}s`
}
