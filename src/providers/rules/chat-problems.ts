// Finds problems in the messages of a chat completion, such as tool calls without results.
import { asObject, asText, objectsIn } from '../../lib/values.ts'
import type { HistoryProblem } from './rule.ts'

/** The assistant message whose tool calls are being answered. */
interface OpenCalls {
  /** The ids that have no result yet. */
  missing: Set<string>
  /** The index of the result of each other id. */
  results: Map<string, number>
}

/** Maximum length of a tool call id at OpenAI, in characters. */
const MAX_CALL_ID = 40

/**
 * Finds problems in the messages of a chat completion, in order. Linear in the number of messages.
 * @param messages Messages of any shape, since forwarded requests are not validated.
 */
export function* findChatProblems(messages: readonly unknown[]): Generator<HistoryProblem> {
  if (messages.length === 0) yield { problem: 'empty-conversation', index: 0, ids: [] }
  let open: OpenCalls | undefined
  let before: unknown
  for (const [index, value] of messages.entries()) {
    const message = asObject(value) ?? {}
    const { role } = message
    if (role === 'tool') {
      const problem = resultProblem(message.tool_call_id, index, open)
      if (problem) yield problem
      before = role
      continue
    }
    if (open) yield* unanswered(open, index)
    open = undefined
    if (role === before && (role === 'user' || role === 'assistant'))
      yield { problem: 'roles-not-alternating', index, ids: [] }
    before = role
    if (role !== 'assistant') continue
    if (Array.isArray(message.tool_calls) && message.tool_calls.length === 0)
      yield { problem: 'empty-calls', index, ids: [] }
    const ids = objectsIn(message.tool_calls).flatMap(({ id }) => asText(id) ?? [])
    for (const [part, id] of ids.entries())
      if (id.length > MAX_CALL_ID) yield { problem: 'long-call-id', index, part, ids: [id], found: String(id.length) }
    if (ids.length > 0) open = { missing: new Set(ids), results: new Map() }
  }
  if (open) yield* unanswered(open, messages.length - 1)
  if (before === 'assistant' && asObject(messages.at(-1))?.prefix !== true)
    yield { problem: 'assistant-last', index: messages.length - 1, ids: [] }
}

/** The problem of a tool result. Removes its call from those without a result. */
function resultProblem(callId: unknown, index: number, open: OpenCalls | undefined): HistoryProblem | undefined {
  const id = asText(callId)
  if (id === undefined) return { problem: 'missing-call-id', index, ids: [] }
  if (!open) return { problem: 'result-without-call', index, ids: [id] }
  const first = open.results.get(id)
  if (first !== undefined) return { problem: 'duplicate-result', index, first, ids: [id] }
  open.results.set(id, index)
  return open.missing.delete(id) ? undefined : { problem: 'unknown-call-id', index, ids: [id] }
}

function* unanswered({ missing }: OpenCalls, index: number): Generator<HistoryProblem> {
  if (missing.size > 0) yield { problem: 'call-without-result', index, ids: [...missing] }
}
