// Pure functions that decide whether a failed attempt is repeated, after what wait, and when the next target follows.
import { SPENDING_LIMIT } from '../contract/core/error.ts'
import { type Failure, HANG_LIMIT } from './outcome.ts'
import type { Settings } from './settings.ts'

const FIRST_WAIT_MS = 1000
const JITTER = 0.25
const MAX_ADVICE_MS = 60_000

/** Whether no other attempt can help: the client is gone, or the program itself failed. */
const isFinal = ({ kind, code }: Failure): boolean =>
  kind === 'canceled' || kind === 'internal_error' || code === HANG_LIMIT

/**
 * Whether the same target is tried again: for a listed status, or for a failure without a status. Waiting does not lift
 * our own limit.
 */
export function retries(failure: Failure, retry: Settings['retry']): boolean {
  if (!retry || isFinal(failure) || failure.code === SPENDING_LIMIT) return false
  return failure.kind === 'http_error' ? retry.codes.includes(failure.status) : true
}

/**
 * Whether the next target is tried. A 4xx is the same error for every target, except for a rejected conversation:
 * providers have different rules for those.
 */
export function fallsBack(failure: Failure): boolean {
  if (isFinal(failure)) return false
  const { kind, status, rejection } = failure
  return rejection !== undefined || kind !== 'http_error' || status === 408 || status === 429 || status >= 500
}

/**
 * Milliseconds to wait before retry number `retry` (1, 2, ...): the provider's advice if it is at most a minute,
 * otherwise 1, 2, 4, 8, 16 s with a jitter of 25 %. `random` is a random number from 0 to below 1.
 */
export function retryDelay(
  retry: number,
  headers: Record<string, string>,
  { now, random }: { now: number; random: number },
): number {
  const advised = retryAfter(headers, now)
  if (advised !== undefined && advised <= MAX_ADVICE_MS) return advised
  return Math.round(FIRST_WAIT_MS * 2 ** (retry - 1) * (1 - JITTER + 2 * JITTER * random))
}

/** The wait that a provider advises, in ms: `retry-after-ms`, or `retry-after` as seconds or as a date (RFC 9110, 10.2.3). */
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

/** Whether the wait is given as a date, which a client with another clock cannot use. */
export const isDated = (headers: Record<string, string>): boolean =>
  headers['retry-after-ms'] === undefined && Number.isNaN(Number(headers['retry-after'] ?? 0))
