// What whole and streamed messages of Anthropic's API share: their id, their end, their token counts.
import { asObject } from '../lib/values.ts'

const STOPS: Record<string, string> = { length: 'max_tokens', tool_calls: 'tool_use', content_filter: 'refusal' }
/** Why a message ends, from why a choice does. */
export const stopReasonOf = (finish: unknown): string => STOPS[String(finish)] ?? 'end_turn'

/** The id of a message, from that of the completion. */
export const messageIdOf = (id: unknown): string => `msg_${String(id).replace(/^chatcmpl-/, '')}`

/** Token counts: those of the input less what was read from and written to the prompt cache. */
export function messageUsage(given: unknown): Record<string, number> {
  const usage = asObject(given) ?? {}
  const details = asObject(usage.prompt_tokens_details) ?? {}
  const read = Number(details.cached_tokens ?? 0)
  const created = Number(details.cache_creation_tokens ?? 0)
  return {
    input_tokens: Math.max(0, Number(usage.prompt_tokens ?? 0) - read - created),
    cache_creation_input_tokens: created,
    cache_read_input_tokens: read,
    output_tokens: Number(usage.completion_tokens ?? 0),
  }
}
