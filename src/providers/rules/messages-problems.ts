// Finds problems in a conversation of Anthropic's Messages API. Consecutive messages of one role are one turn.
import { isChangedThought } from '../../lib/issued.ts'
import { asList, asObject, asText, type JsonObject, textOrJson } from '../../lib/values.ts'
import type { HistoryProblem } from './rule.ts'

/** A block and its position. */
interface PlacedBlock {
  block: JsonObject
  /** Index of its message. */
  index: number
  /** Index within the message. */
  part: number
}
/** Consecutive messages of one role. */
interface Turn {
  role: string
  blocks: PlacedBlock[]
  /** Index of the first message. */
  index: number
}

/** The checked fields of a Messages API request. */
interface MessagesRequest {
  messages: readonly unknown[]
  thinking?: unknown
}

const isType = (type: string) => (placed: PlacedBlock) => placed.block.type === type
const isThinking = ({ block }: PlacedBlock) => block.type === 'thinking' || block.type === 'redacted_thinking'

/** Finds problems in a Messages API request. Linear in the number of blocks. */
export function* findMessagesProblems({ messages, thinking }: MessagesRequest): Generator<HistoryProblem> {
  if (messages.length === 0) yield { problem: 'empty-conversation', index: 0, ids: [] }
  const turns = turnsOf(messages)
  yield* contentProblems(messages)
  const known = new Set<string>()
  let uses: PlacedBlock[] = []
  for (const turn of turns) {
    const { role, blocks } = turn
    if (role === 'system') {
      const problem = turn.index === 0 ? 'system-message-first' : 'system-message'
      yield { problem, index: turn.index, ids: [] }
      continue
    }
    if (role === 'user') yield* resultProblems(turn, uses)
    else if (uses.length > 0) yield* unanswered(uses)
    uses = role === 'assistant' ? blocks.filter(isType('tool_use')) : []
    for (const { block, index, part } of uses) {
      const id = idOf(block.id)
      if (known.has(id)) yield { problem: 'duplicate-call-id', index, part, ids: [id] }
      if (!CALL_ID.test(id)) yield { problem: 'invalid-call-id', index, part, ids: [id] }
      known.add(id)
    }
  }
  if (uses.length > 0) yield* unanswered(uses)
  yield* thinkingProblems(turns)
  yield* endProblems(turns, asObject(thinking)?.type)
}
const CALL_ID = /^[a-zA-Z0-9_-]+$/

/** Thinking blocks of the latest assistant turn whose text differs from the one that this server signed. */
function* thinkingProblems(turns: readonly Turn[]): Generator<HistoryProblem> {
  for (const { block, index, part } of turns.findLast(({ role }) => role === 'assistant')?.blocks ?? [])
    if (block.type === 'thinking' && isChangedThought(asText(block.thinking) ?? '', asText(block.signature) ?? ''))
      yield { problem: 'changed-thinking', index, part, ids: [] }
}

/** Compares the results of a turn with the calls of the turn before. */
function* resultProblems({ blocks }: Turn, uses: readonly PlacedBlock[]): Generator<HistoryProblem> {
  const missing = new Map(uses.map((use) => [idOf(use.block.id), use]))
  const all = new Set(missing.keys())
  const misplaced: string[] = []
  let other: PlacedBlock | undefined
  for (const placed of blocks) {
    const { block, index, part } = placed
    if (block.type !== 'tool_result') {
      other ??= placed
      continue
    }
    const id = idOf(block.tool_use_id)
    if (missing.delete(id)) {
      if (other) misplaced.push(id)
    } else yield { problem: all.has(id) ? 'duplicate-result' : 'unknown-call-id', index, part, ids: [id] }
  }
  const [first] = uses
  if (first && misplaced.length > 0) yield { problem: 'result-after-content', index: first.index, ids: misplaced }
  if (missing.size > 0) yield* unanswered([...missing.values()])
}

function* unanswered(uses: readonly PlacedBlock[]): Generator<HistoryProblem> {
  const [first] = uses
  if (first) yield { problem: 'call-without-result', index: first.index, ids: uses.map(({ block }) => idOf(block.id)) }
}

/** Messages and text blocks without content. The final assistant message may be empty. */
function* contentProblems(messages: readonly unknown[]): Generator<HistoryProblem> {
  for (const [index, value] of messages.entries()) {
    const { role, content } = asObject(value) ?? {}
    const isEmpty = role !== 'system' && (content === '' || (Array.isArray(content) && content.length === 0))
    if (isEmpty && !(role === 'assistant' && index === messages.length - 1))
      yield { problem: 'empty-message', index, ids: [] }
    for (const [part, block] of asList(content).entries()) {
      const { type, text } = asObject(block) ?? {}
      if (type !== 'text') continue
      if (text === '') yield { problem: 'empty-text', index, part, ids: [] }
      else if (asText(text)?.trim() === '') yield { problem: 'blank-text', index, part, ids: [] }
    }
  }
}

/** How a conversation ends: with a prefill, or in the middle of a tool continuation. */
function* endProblems(turns: readonly Turn[], thinking: unknown): Generator<HistoryProblem> {
  const last = turns.at(-1)
  const end = last?.blocks.at(-1)
  const index = end?.index ?? last?.index ?? 0
  if (last?.role === 'assistant') {
    if (/\s$/.test(asText(end?.block.text) ?? '')) yield { problem: 'trailing-whitespace', index, ids: [] }
    const thought = thinking === undefined || thinking === 'disabled' ? last.blocks.find(isThinking) : undefined
    if (thought) yield { problem: 'thinking-not-enabled', index: thought.index, part: thought.part, ids: [] }
    // The server continues a turn that it paused.
    const isPaused = end !== undefined && /^server_tool_use$|_tool_result$/.test(asText(end.block.type) ?? '')
    if (!isPaused) yield { problem: 'assistant-last', index, ids: [] }
    return
  }
  // In a tool continuation, the last assistant turn is not complete.
  if (thinking !== 'enabled' || !last?.blocks.some(isType('tool_result'))) return
  const [first] = turns.findLast(({ role }) => role === 'assistant')?.blocks ?? []
  if (first && !isThinking(first))
    yield {
      problem: 'missing-thinking',
      index: first.index,
      part: first.part,
      ids: [],
      found: textOrJson(first.block.type),
    }
}

function turnsOf(messages: readonly unknown[]): Turn[] {
  const turns: Turn[] = []
  for (const [index, value] of messages.entries()) {
    const message = asObject(value) ?? {}
    const role = asText(message.role) ?? ''
    let turn = turns.at(-1)
    if (turn?.role !== role) {
      turn = { role, blocks: [], index }
      turns.push(turn)
    }
    turn.blocks.push(...blocksOf(message.content, index))
  }
  return turns
}

function blocksOf(content: unknown, index: number): PlacedBlock[] {
  const text = asText(content)
  if (text !== undefined) return text === '' ? [] : [{ block: { type: 'text', text }, index, part: 0 }]
  return asList(content).map((block, part) => ({ block: asObject(block) ?? {}, index, part }))
}

const idOf = (id: unknown): string => asText(id) ?? ''
