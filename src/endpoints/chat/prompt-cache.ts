// Prompt caching: messages up to a part marked with `cache_control` are written at their first call, and read at the next
// one within the time that the mark gives. It changes what usage says, never the answer.
import type { ChatRequest, Message } from '../../contract/chat-request.ts'
import type { Keep } from '../../contract/kept.ts'
import type { Making } from '../../contract/operation.ts'
import { fingerprint } from '../../lib/ids.ts'
import { messagesTokens } from './prompt.ts'

const KIND = 'prompt-cache'
const LIFETIME_MS = { '5m': 300_000, '1h': 3_600_000 }

interface Prefix {
  id: string
  tokens: number
  lifetime: number
}

interface Marked {
  cache_control?: { ttl: keyof typeof LIFETIME_MS } | null
}

/** The messages up to the last mark, undefined when there is none. */
function prefixOf({ messages, model }: ChatRequest): Prefix | undefined {
  const markOf = ({ content }: Message) =>
    Array.isArray(content) ? (content as Marked[]).findLast((part) => part.cache_control)?.cache_control : undefined
  const end = messages.findLastIndex(markOf)
  const last = messages[end]
  if (!last) return undefined
  const prefix = messages.slice(0, end + 1)
  return {
    id: fingerprint(JSON.stringify([model, prefix])),
    tokens: messagesTokens(prefix),
    lifetime: LIFETIME_MS[markOf(last)?.ttl ?? '5m'],
  }
}

/** How many tokens of the prompt were read from the cache, and how many were written to it. */
export function cachedTokens(request: ChatRequest, { kept, now }: Making): { cached: number; cacheCreation: number } {
  const prefix = prefixOf(request)
  if (!prefix) return { cached: 0, cacheCreation: 0 }
  return kept.get(KIND, prefix.id, now) === undefined
    ? { cached: 0, cacheCreation: prefix.tokens }
    : { cached: prefix.tokens, cacheCreation: 0 }
}

/** The mark of a written prefix; reading it makes it live on. */
export function keepPrefix(request: ChatRequest, { now }: Making): Keep[] {
  const prefix = prefixOf(request)
  return prefix ? [{ kind: KIND, id: prefix.id, value: prefix.tokens, expires: now + prefix.lifetime }] : []
}
