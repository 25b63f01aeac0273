// Prompt caching: a prompt up to a part with `cache_control` is written at its first call, and read by later prompts
// that begin with it, until it expires. It affects only the reported usage.

import type { KeyValueEntry } from '../../contract/core/key-value.ts'
import type { AnswerContext } from '../../contract/core/operation.ts'
import type { ChatRequest, Message } from '../../contract/router/chat-request.ts'
import { readableRow } from '../../db/damaged-rows.ts'
import { fingerprint } from '../../lib/ids.ts'
import { messageTokens } from './prompt.ts'

const KIND = 'prompt-cache'
const LIFETIME_MS = { '5m': 300_000, '1h': 3_600_000 }

interface CacheMarkedPart {
  cache_control?: { ttl: keyof typeof LIFETIME_MS } | null
}

/** A prompt up to and including one message. */
interface Prefix {
  id: string
  tokens: number
  /** Lifetime in ms; undefined when the message has no mark. */
  lifetime: number | undefined
}

const markOf = ({ content }: Message) =>
  Array.isArray(content)
    ? (content as CacheMarkedPart[]).findLast((part) => part.cache_control)?.cache_control
    : undefined

/** The prefixes of a prompt up to its last mark, from short to long. Marks do not affect whether prefixes are equal. */
function prefixesOf({ messages, model, tools }: ChatRequest): readonly Prefix[] {
  const end = messages.findLastIndex(markOf)
  if (end < 0) return NO_PREFIXES
  let id = JSON.stringify([model, tools])
  let tokens = 0
  return messages.slice(0, end + 1).map((message) => {
    id = fingerprint(id + JSON.stringify(message, (key, value) => (key === 'cache_control' ? undefined : value)))
    tokens += messageTokens(message)
    const mark = markOf(message)
    return { id, tokens, lifetime: mark ? LIFETIME_MS[mark.ttl] : undefined }
  })
}

const NO_PREFIXES: readonly Prefix[] = []

/**
 * How many tokens of the prompt were read from the cache, and how many were written to it. Damaged entries count as not
 * cached.
 */
export function cachedTokens(
  request: ChatRequest,
  { keyValues: store, now }: AnswerContext,
): { cached: number; cacheCreation: number } {
  const prefixes = prefixesOf(request)
  if (prefixes.length === 0) return NOTHING_CACHED
  const cached =
    prefixes.findLast(({ id }) => readableRow(() => store.get(KIND, id, now, isCount))[0] !== undefined)?.tokens ?? 0
  return { cached, cacheCreation: (prefixes.at(-1)?.tokens ?? 0) - cached }
}

const NOTHING_CACHED = { cached: 0, cacheCreation: 0 }
const isCount = (value: unknown): value is number => typeof value === 'number'

/** The marked prefixes; writing one again extends its lifetime. */
export function keepPrefixes(request: ChatRequest, { now }: AnswerContext): readonly KeyValueEntry[] {
  const entries: KeyValueEntry[] = []
  for (const { id, tokens, lifetime } of prefixesOf(request))
    if (lifetime !== undefined) entries.push({ kind: KIND, id, value: tokens, expires: now + lifetime })
  return entries
}
