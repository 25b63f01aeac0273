// What whole and streamed messages of Anthropic's API share: ids, blocks, stop reasons, token counts.
import { signThought } from '../../lib/issued.ts'
import { asObject, asText, type JsonObject } from '../../lib/values.ts'

/** Error code after which clients of threads send the whole conversation. */
export const THREAD_NOT_FOUND = 'thread_not_found'

/** Stop reasons by finish reason; one that chat completions do not have is passed on as it is. */
const STOPS: Record<string, string> = {
  stop: 'end_turn',
  length: 'max_tokens',
  tool_calls: 'tool_use',
  function_call: 'tool_use',
  content_filter: 'refusal',
}

/** Why a message ended. */
interface MessageEnd {
  /** The finish reason of the choice. */
  finish: unknown
  /** The stop sequence that ended it, if known. */
  stoppedBy: string | undefined
  /** Whether the model refused. */
  refused: boolean
}

/** The fields for the end of a message. */
export function messageEnd({ finish, stoppedBy, refused }: MessageEnd): JsonObject {
  const stopped = stoppedBy !== undefined && finish === 'stop'
  const usual = stopped ? 'stop_sequence' : (STOPS[String(finish)] ?? String(finish))
  const reason = finish == null ? null : refused ? 'refusal' : usual
  return {
    stop_reason: reason,
    stop_sequence: stopped ? stoppedBy : null,
    stop_details: reason === 'refusal' ? { type: 'refusal', category: null, explanation: null } : null,
    container: null,
  }
}

/** A message without content. */
export const emptyMessage = ({ id, model }: JsonObject): JsonObject => ({
  id: `msg_${String(id).replace(/^chatcmpl-/, '')}`,
  type: 'message',
  role: 'assistant',
  model,
  content: [],
  diagnostics: null,
})

/** The beginning of a tool call block. */
export const toolUse = (id: unknown, name: unknown): JsonObject => ({
  type: 'tool_use',
  // Anthropic's call ids have this prefix.
  id: String(id).replace(/^call_/, 'toolu_'),
  name,
  input: {},
  caller: { type: 'direct' },
})

/** The signature of a thinking block, which is required: that of the provider, or ours. */
export const signatureOf = (thought: string, value: unknown): string => asText(value) || signThought(thought)

const count = (value: unknown) => Number(value ?? 0)

/** The token counts at the end of a stream. Input tokens exclude those read from and written to the prompt cache. */
export function usageAtEnd(value: unknown): JsonObject {
  const usage = asObject(value) ?? {}
  const details = asObject(usage.prompt_tokens_details) ?? {}
  const thought = count(asObject(usage.completion_tokens_details)?.reasoning_tokens)
  const read = count(details.cached_tokens)
  const created = count(details.cache_creation_tokens)
  return {
    input_tokens: Math.max(0, count(usage.prompt_tokens) - read - created),
    cache_creation_input_tokens: created,
    cache_read_input_tokens: read,
    output_tokens: count(usage.completion_tokens),
    output_tokens_details: thought > 0 ? { thinking_tokens: thought } : null,
    server_tool_use: null,
  }
}

/** The token counts of a whole message. */
export function messageUsage(value: unknown): JsonObject {
  const usage = usageAtEnd(value)
  const cache_creation = { ephemeral_5m_input_tokens: usage.cache_creation_input_tokens, ephemeral_1h_input_tokens: 0 }
  return { ...usage, cache_creation, inference_geo: null, service_tier: 'standard', speed: null }
}
