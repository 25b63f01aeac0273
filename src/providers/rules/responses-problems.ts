// Finds problems in the items of a Responses API request: calls, outputs, reasoning and references that do not belong together.
import type { EarlierResponses } from '../../contract/core/history.ts'
import { asObject, asText, type JsonObject } from '../../lib/values.ts'
import type { HistoryProblem } from './rule.ts'

const CALLS = new Set(['function_call', 'custom_tool_call'])
const OUTPUTS = new Set(['function_call_output', 'custom_tool_call_output'])
/** Items that are not created by a model, so no reasoning item belongs to them. */
const FROM_CLIENT = new Set(['function_call_output', 'custom_tool_call_output', 'item_reference'])

/** Finds problems in the items of a request, in order. Linear in the number of items. */
export function* findItemProblems(items: readonly unknown[], earlier: EarlierResponses): Generator<HistoryProblem> {
  if (earlier.missing !== undefined) yield { problem: 'unknown-response', index: 0, ids: [earlier.missing] }
  const input = items.map((item) => asObject(item) ?? {})
  const seen = new Set<string>()
  const called = new Set(earlier.openCalls)
  const outputs = new Set<string>()
  for (const { type, call_id: id } of input) if (OUTPUTS.has(textIn(type))) outputs.add(textIn(id))
  for (const id of earlier.openCalls ?? [])
    if (!outputs.has(id)) yield { problem: 'call-without-result', index: 0, ids: [id], found: 'function' }
  for (const [index, item] of input.entries()) {
    const type = textIn(item.type)
    const id = asText(item.id)
    if (id !== undefined && type !== 'item_reference') {
      if (seen.has(id)) yield { problem: 'duplicate-item', index, ids: [id] }
      seen.add(id)
    }
    const call = textIn(item.call_id)
    if (CALLS.has(type)) {
      called.add(call)
      if (!outputs.has(call)) yield { problem: 'call-without-result', index, ids: [call], found: kindOf(type) }
      if (id !== undefined) yield* missingReasoning(id, index, seen, earlier)
    } else if (OUTPUTS.has(type)) {
      if (!called.has(call) && !earlier.wasCalled(call))
        yield { problem: 'result-without-call', index, ids: [call], found: kindOf(type) }
    } else if (type === 'item_reference') {
      if (id !== undefined && isMissing(id, earlier)) yield { problem: 'unknown-item', index, ids: [id] }
    } else if (type === 'reasoning' && id !== undefined) {
      if (!isFollowed(input[index + 1])) yield { problem: 'reasoning-without-item', index, ids: [id] }
      const encrypted = asText(item.encrypted_content)
      if (encrypted !== undefined && earlier.isChanged(id, encrypted))
        yield { problem: 'changed-encrypted-content', index, ids: [id], found: encrypted }
    }
  }
}

/** Whether the reasoning before an item can belong to it. */
function isFollowed(next: JsonObject | undefined): boolean {
  if (!next) return false
  const { type, role } = next
  // For the provider, a message without its id is another one.
  if (type === undefined || type === 'message') return role === 'assistant' && next.id != null
  return type === 'item_reference' || !FROM_CLIENT.has(textIn(type))
}

/** A call whose response had reasoning directly before it, which the request neither contains nor continues. */
function* missingReasoning(
  id: string,
  index: number,
  seen: ReadonlySet<string>,
  earlier: EarlierResponses,
): Generator<HistoryProblem> {
  const beside = earlier.itemsBeside(id)
  if (beside === undefined || beside === 'unstored') return
  const at = beside.findIndex((item) => item.id === id)
  const before = at > 0 ? beside[at - 1] : undefined
  const reasoning = before?.type === 'reasoning' ? asText(before.id) : undefined
  if (reasoning !== undefined && !seen.has(reasoning))
    yield { problem: 'item-without-reasoning', index, ids: [id, reasoning] }
}

/** Whether a referenced item certainly does not exist. It may also have been dropped. */
function isMissing(id: string, earlier: EarlierResponses): boolean {
  const beside = earlier.itemsBeside(id)
  if (beside === 'unstored') return true
  return beside !== undefined && !beside.some((item) => item.id === id)
}

/** A provider's name for the tool of a call or output: `function` or `custom tool`. */
const kindOf = (type: string): string => (type.startsWith('custom') ? 'custom tool' : 'function')

const textIn = (value: unknown): string => asText(value) ?? ''
