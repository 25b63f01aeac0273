// Exact-match cache: equal calls of a session get the stored response. Only complete responses that passed their
// guardrails are stored. Concurrent misses of equal calls all reach the backend, and the last response is kept.
import type { KeyValueEntry } from '../contract/core/key-value.ts'
import { readableRow } from '../db/damaged-rows.ts'
import { checksumOf } from '../lib/canonical.ts'
import { sinceInstant } from '../lib/clock.ts'
import { checksumInSlices } from '../lib/json-slices.ts'
import { asObject } from '../lib/values.ts'
import type { AttemptAnswer } from './record/recording.ts'
import type { CallContext } from './types.ts'

const KIND = 'cache'
// Fields for routing, identification, streaming and templates already rendered, which do not change the response.
const IGNORED_FIELDS = new Set([
  'model',
  'fallbacks',
  'retry',
  'cache',
  'load_balancer',
  'timeout',
  'svc',
  'identity',
  'contact',
  'thread',
  'name',
  'metadata',
  'stream',
  'stream_options',
  'partial_images',
  'variables',
  'template_engine',
])

/** A stored response. */
export interface CachedAnswer {
  answer: object
  model: string
  usage: Record<string, unknown> | null
  /** Milliseconds since the epoch. */
  at: number
}

/**
 * The cache key of a call: SHA-256 of workspace, operation, model or load balancer, and the rendered request. A large
 * request is hashed in slices.
 */
export async function keyOf(
  { operation, request, settings, answerContext }: CallContext,
  large: boolean,
): Promise<string> {
  const input = Object.fromEntries(Object.entries(request).filter(([field]) => !IGNORED_FIELDS.has(field)))
  const value = [answerContext.workspace(), operation.name, settings.balance ?? operation.model(request), input]
  return large ? checksumInSlices(value) : checksumOf(value)
}

const isCachedBy =
  ({ wrongWith }: CallContext['operation']) =>
  (value: unknown): value is CachedAnswer => {
    const { answer, model, usage, at } = asObject(value) ?? {}
    const isUsage = usage === null || asObject(usage) !== undefined
    if (asObject(answer) === undefined || wrongWith(answer) !== undefined) return false
    return typeof model === 'string' && isUsage && typeof at === 'number'
  }

/** The stored response; undefined when nothing is stored, it has expired or it is damaged. */
const findStored = ({ session, operation }: CallContext, key: string): CachedAnswer | undefined =>
  readableRow(() => session.keyValues.get(KIND, key, session.clock.now(), isCachedBy(operation)))[0]

/** The stored response to an equal call, which needs no attempt; undefined for a miss. */
export function cachedAnswer(callContext: CallContext, key: string): AttemptAnswer | undefined {
  const { operation, request, answerContext, stream, recording, session } = callContext
  const stored = findStored(callContext, key)
  recording.cache(key, stored && sinceInstant(session.clock, stored.at))
  if (!stored) return undefined
  const { model, usage } = stored
  const replayed = operation.replay?.(request, stored.answer, answerContext)
  const content =
    stream && replayed
      ? { kind: 'stream' as const, events: [replayed.events()], whole: undefined }
      : { kind: 'whole' as const, value: replayed?.body() ?? stored.answer }
  return { kind: 'succeeded', model, content, from: { headers: {}, usage, fixture: null, generated: false } }
}

/** The entry that stores a response for later equal calls. */
export function cacheEntry(
  { session, settings }: CallContext,
  key: string,
  stored: Omit<CachedAnswer, 'at'>,
): KeyValueEntry {
  const at = session.clock.now()
  return { kind: KIND, id: key, value: { ...stored, at }, expires: at + (settings.cacheTtl ?? 0) * 1000 }
}
