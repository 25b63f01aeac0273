// When a failed attempt is repeated, after how long, and when the next target gets its turn: pure functions.
import { SPENDING_LIMIT } from '../contract/core/error.ts'
import { type Failure, HANG_LIMIT } from './outcome.ts'
import type { Settings } from './settings.ts'

const FIRST_WAIT_MS = 1000
const JITTER = 0.25
const MAX_ADVICE_MS = 60_000

/** Whether no other attempt can change it: nobody waits any more, or the program itself has failed. */
const isFinal = ({ kind, code }: Failure): boolean =>
  kind === 'canceled' || kind === 'internal_error' || code === HANG_LIMIT

/** Whether the same target is tried again: a listed status, or a failure that has none of its own; no wait lifts our own limit. */
export function retries(failure: Failure, retry: Settings['retry']): boolean {
  if (!retry || isFinal(failure) || failure.code === SPENDING_LIMIT) return false
  return failure.kind === 'http_error' ? retry.codes.includes(failure.status) : true
}

/**
 * Whether the next target is tried. A 4xx says that the request is wrong for every target, unless it rejects the conversation: providers
 * have different rules about that.
 */
export function fallsBack(failure: Failure): boolean {
  if (isFinal(failure)) return false
  const { kind, status, rejection } = failure
  return rejection !== undefined || kind !== 'http_error' || status === 408 || status === 429 || status >= 500
}

/**
 * Milliseconds to wait before extra attempt number `retry` (1, 2, ...): what the provider asked for when that is at most a
 * minute, else 1, 2, 4, 8, 16 s with a quarter of jitter either way.
 */
export function retryDelay(
  retry: number,
  headers: Record<string, string>,
  { now, luck }: { now: number; luck: number },
): number {
  const advised = retryAfter(headers, now)
  if (advised !== undefined && advised <= MAX_ADVICE_MS) return advised
  return Math.round(FIRST_WAIT_MS * 2 ** (retry - 1) * (1 - JITTER + 2 * JITTER * luck))
}

/** Milliseconds that a provider asks to wait: `retry-after-ms`, or `retry-after` as seconds or as a date (RFC 9110, 10.2.3). */
export function retryAfter(headers: Record<string, string>, now: number): number | undefined {
  const ms = Number(headers['retry-after-ms']?.trim() || Number.NaN)
  if (ms >= 0) return ms
  const text = headers['retry-after']?.trim()
  if (!text) return undefined
  const seconds = Number(text)
  if (!Number.isNaN(seconds)) return seconds >= 0 ? seconds * 1000 : undefined
  const date = Date.parse(text)
  return Number.isNaN(date) ? undefined : Math.max(0, date - now)
}

/** Whether the wait is told as a date, which means nothing to a client with another clock. */
export const isDated = (headers: Record<string, string>): boolean =>
  headers['retry-after-ms'] === undefined && Number.isNaN(Number(headers['retry-after'] ?? 0))
