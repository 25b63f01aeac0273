// Reads the tools that a call offers and changes the tool calls of a response, streamed or not.
import type { FaultContext, NextReply } from '../contract/core/fault.ts'
import type { Reply } from '../contract/core/reply.ts'
import { asIndex, asObject, type JsonObject, objectsIn, parsedJson, textOrJson } from '../lib/values.ts'
import { type AnswerEnd, changeJson, changeWhole, endedAs } from './change.ts'
import { type EventBlock, eventText, rewritten, type SentPiece } from './wire.ts'

/** A function that a request offers as a tool. */
export interface OfferedFunction {
  name: string
  parameters: JsonObject
}

/** The functions that a request offers, in order. The Responses API has their fields beside `type`, chat completions in `function`. */
export const offeredFunctions = ({ request }: Pick<FaultContext, 'request'>): OfferedFunction[] =>
  objectsIn((request as { tools?: unknown } | null)?.tools).flatMap((tool) => {
    const { name, parameters } = asObject(tool.function) ?? (tool.type === 'function' ? tool : {})
    return typeof name === 'string' ? [{ name, parameters: asObject(parameters) ?? {} }] : []
  })

/** Changes the message of a chat completion that is not streamed. `change` returns undefined after `skipped` to change nothing. */
export const changeMessage = (
  next: NextReply,
  context: FaultContext,
  change: (message: JsonObject) => JsonObject | undefined | Promise<JsonObject | undefined>,
): Promise<Reply> =>
  changeWhole(next, context, async (text) => {
    const value = asObject(parsedJson(text))
    const [choice, ...choices] = objectsIn(value?.choices)
    const message = asObject(choice?.message)
    if (!message) context.skipped('the response is not a chat completion')
    const other = message && (await change(message))
    if (!other) return undefined
    const finish_reason = objectsIn(other.tool_calls).length > 0 ? 'tool_calls' : choice?.finish_reason
    return JSON.stringify({ ...value, choices: [{ ...choice, message: other, finish_reason }, ...choices] })
  })

/** A call of a function by a model, in any API. */
interface FunctionCall {
  id: string
  name: string
  /** JSON, unless the model or a fault wrote something else. */
  arguments: string
}

/** A change of the tool calls of a response. */
interface ToolChange {
  /** Returns the replacements for one call. `isLast` is true for the last call of the response. */
  change(call: FunctionCall, isLast: boolean): readonly FunctionCall[]
  /** The finish reason of the response. Unchanged if undefined. */
  end?: AnswerEnd | undefined
}

/** Changes the function calls of a response. A stream is buffered from its first call on. */
export const changeToolCalls = (next: NextReply, context: FaultContext, change: ToolChange): Promise<Reply> =>
  changeJson(next, context, {
    whole: (answer) => changedAnswer(answer, change),
    stream: (blocks) => changedCalls(blocks, context, change),
    reason: 'the response has no tool call',
  })

/** A response that is not streamed with its calls changed. Undefined if it has none. */
function changedAnswer(answer: JsonObject, change: ToolChange): JsonObject | undefined {
  const { choices, output } = answer
  if (Array.isArray(output)) {
    const other = changedList(objectsIn(output), ITEMS, change)
    return other && ended({ ...answer, output: other }, change)
  }
  if (Array.isArray(answer.content)) {
    const content = changedList(objectsIn(answer.content), BLOCKS, change)
    return content && ended({ ...answer, content }, change)
  }
  const [choice, ...more] = objectsIn(choices)
  const message = asObject(choice?.message)
  const tool_calls = message && changedList(objectsIn(message.tool_calls), CHAT_CALLS, change)
  return (
    tool_calls && { ...answer, choices: [ended({ ...choice, message: { ...message, tool_calls } }, change), ...more] }
  )
}

const ended = (answer: JsonObject, { end }: ToolChange): JsonObject =>
  (end === undefined ? undefined : endedAs(answer, end)) ?? answer

/** The format of a function call in an API. */
interface CallForm {
  /** The call. Undefined if the entry is not a function call. */
  read(entry: JsonObject): FunctionCall | undefined
  /** The entry with another call at a position of its list. `isCopy` is true for a call that the model did not send. */
  write(entry: JsonObject, call: FunctionCall, place: { index: number; isCopy: boolean }): JsonObject
}

const CHAT_CALLS: CallForm = {
  read({ id, function: called }) {
    const { name, arguments: text } = asObject(called) ?? {}
    return asObject(called) && { id: String(id), name: String(name), arguments: textOrJson(text) }
  },
  write: (entry, { id, ...called }, { index }) => ({
    ...entry,
    ...('index' in entry && { index }),
    id,
    function: { ...asObject(entry.function), ...called },
  }),
}

const ITEMS: CallForm = {
  read: ({ type, call_id: id, name, arguments: text }) =>
    type === 'function_call' ? { id: String(id), name: String(name), arguments: textOrJson(text) } : undefined,
  write: (entry, { id: call_id, ...called }, { isCopy }) => ({
    ...entry,
    ...(isCopy && { id: `${String(entry.id)}_2` }),
    call_id,
    ...called,
  }),
}

/** Blocks of Anthropic messages. */
const BLOCKS: CallForm = {
  read: ({ type, id, name, input }) =>
    type === 'tool_use' ? { id: String(id), name: String(name), arguments: textOrJson(input ?? {}) } : undefined,
  // A message that is not streamed cannot contain invalid JSON.
  write: (entry, { id, name, arguments: text }) => ({ ...entry, id: blockId(id), name, input: parsedJson(text) ?? {} }),
}
/** The same blocks in a stream, with their input as text. */
const STREAMED_BLOCKS: CallForm = {
  read: BLOCKS.read,
  write: (entry, { id, name, arguments: input }) => ({ ...entry, id: blockId(id), name, input }),
}
const blockId = (id: string): string => id.replace(/^call_/, 'toolu_')

/** A list with its calls changed. Undefined if it has none. */
function changedList(entries: readonly JsonObject[], form: CallForm, change: ToolChange): JsonObject[] | undefined {
  const last = entries.findLast((entry) => form.read(entry))
  if (!last) return undefined
  const list: JsonObject[] = []
  for (const entry of entries)
    list.push(...changedEntry(entry, form, { ...change, isLast: entry === last, index: list.length }))
  return list
}

function changedEntry(
  entry: JsonObject,
  form: CallForm,
  { change, isLast, index }: ToolChange & { isLast: boolean; index: number },
): JsonObject[] {
  const call = form.read(entry)
  if (!call) return [entry]
  return change(call, isLast).map((one, number) =>
    form.write(entry, one, { index: index + number, isCopy: number > 0 }),
  )
}

/** The events of a stream with its calls changed. All events from the first call on are read first. */
async function* changedCalls(
  blocks: AsyncGenerator<EventBlock>,
  { triggered }: FaultContext,
  change: ToolChange,
): AsyncGenerator<SentPiece> {
  const tail: EventBlock[] = []
  try {
    for await (const block of blocks) {
      if (tail.length > 0 || beginsCall(block.data)) tail.push(block)
      else yield block.bytes
    }
  } catch (error) {
    for (const { bytes } of tail) yield bytes
    throw error
  }
  if (tail.length === 0) return
  triggered()
  const begins = String(tail[0]?.data?.type)
  if (begins === ITEM_BEGINS) yield* changedEvents(tail, change)
  else yield* begins === BLOCK_BEGINS ? changedBlocks(tail, change) : changedChunks(tail, change)
}

const ITEM_BEGINS = 'response.output_item.added'
const ITEM_ENDS = 'response.output_item.done'

const BLOCK_BEGINS = 'content_block_start'

const beginsCall = (data: JsonObject | undefined): boolean =>
  data !== undefined &&
  ((data.type === ITEM_BEGINS && asObject(data.item)?.type === 'function_call') ||
    (data.type === BLOCK_BEGINS && asObject(data.content_block)?.type === 'tool_use') ||
    callsIn(data).length > 0)

/** The first choice of a chunk. */
const firstChoice = ({ choices }: JsonObject): JsonObject | undefined =>
  objectsIn(choices).find(({ index = 0 }) => index === 0)
/** The parts of function calls in a chunk, for its first choice. */
const callsIn = (data: JsonObject): JsonObject[] =>
  objectsIn(asObject(firstChoice(data)?.delta)?.tool_calls).filter((call) => asObject(call.function))

/** A call of a stream with the lengths of the pieces of its arguments. */
interface StreamedCall {
  entry: JsonObject
  pieces: number[]
}

/** The calls in chunks, assembled by index. */
function streamedCalls(tail: readonly EventBlock[]): StreamedCall[] {
  const calls = new Map<unknown, StreamedCall>()
  for (const piece of tail.flatMap(({ data }) => (data ? callsIn(data) : []))) {
    const { name, arguments: text } = asObject(piece.function) ?? {}
    const call = calls.get(piece.index) ?? { entry: { ...piece, function: { name, arguments: '' } }, pieces: [] }
    const added = textOrJson(text)
    const called = asObject(call.entry.function) ?? {}
    call.entry = { ...call.entry, function: { ...called, arguments: textOrJson(called.arguments) + added } }
    if (added !== '') call.pieces.push(added.length)
    calls.set(piece.index, call)
  }
  return [...calls.values()]
}

/** Splits a text into pieces of these lengths. The last piece contains the rest. */
function sliced(text: string, lengths: readonly number[]): string[] {
  const pieces: string[] = []
  let from = 0
  for (const length of lengths.slice(0, -1)) {
    // Surrogate pairs are not split.
    const to = from + length + Number(/[\ud800-\udbff]/.test(text[from + length - 1] ?? ''))
    if (from < text.length) pieces.push(text.slice(from, to))
    from = to
  }
  if (from < text.length) pieces.push(text.slice(from))
  return pieces
}

function* changedChunks(tail: readonly EventBlock[], change: ToolChange): Generator<SentPiece> {
  const calls = streamedCalls(tail)
  const entries: StreamedCall[] = []
  for (const call of calls) {
    const place = { ...change, isLast: call === calls.at(-1), index: entries.length }
    entries.push(...changedEntry(call.entry, CHAT_CALLS, place).map((entry) => ({ entry, pieces: call.pieces })))
  }
  let sent = false
  for (const block of tail) {
    const { data } = block
    const choice = data && firstChoice(data)
    if (!data || !choice) {
      yield block.bytes
      continue
    }
    const chunk = (delta: JsonObject, finish: unknown) => {
      const other = { ...choice, delta, finish_reason: finish }
      const choices = objectsIn(data.choices).map((one) => (one === choice ? other : one))
      return rewritten(block, finish == null ? { ...data, choices } : ended({ ...data, choices }, change))
    }
    const { tool_calls, ...delta } = asObject(choice.delta) ?? {}
    const finish = choice.finish_reason ?? null
    if (!sent && callsIn(data).length > 0) {
      sent = true
      for (const { entry, pieces } of entries) {
        const { index } = entry
        const called = asObject(entry.function) ?? {}
        yield chunk({ ...delta, tool_calls: [{ ...entry, function: { ...called, arguments: '' } }] }, null)
        for (const text of sliced(textOrJson(called.arguments), pieces))
          yield chunk({ tool_calls: [{ index, function: { arguments: text } }] }, null)
      }
    }
    const isOfCall = tool_calls !== undefined
    if (!isOfCall || finish !== null) yield chunk(isOfCall ? {} : delta, finish)
  }
}

function* changedEvents(tail: readonly EventBlock[], change: ToolChange): Generator<SentPiece> {
  const numbers = tail.flatMap(({ data }) => asIndex(data?.sequence_number) ?? [])
  let number = numbers[0] ?? 0
  const textOf = (data: JsonObject): string =>
    eventText('sequence_number' in data ? { ...data, sequence_number: number++ } : data)
  const ends = tail.flatMap(({ data }): JsonObject[] => (data?.type === ITEM_ENDS ? [data] : []))
  const items = objectsIn(ends.map(({ item }) => item))
  const last = items.findLast((item) => ITEMS.read(item))
  /** The number of items that each call adds, by its index. */
  const added = new Map<unknown, number>()
  const isOfCall = ({ output_index: at }: JsonObject) =>
    ends.some(({ output_index, item }) => output_index === at && ITEMS.read(asObject(item) ?? {}))
  const placed = (data: JsonObject): JsonObject => {
    const at = asIndex(data.output_index)
    if (at === undefined) return data
    const before = [...added].filter(([place]) => Number(place) < at).reduce((sum, [, more]) => sum + more, 0)
    return { ...data, output_index: at + before }
  }
  for (const block of tail) {
    const { data } = block
    if (!data) yield block.bytes
    else if (asObject(data.response)) {
      const response = changedAnswer(asObject(data.response) ?? {}, change)
      yield textOf(response ? endedEvent({ ...data, response }) : data)
    } else if (!('output_index' in data) || !isOfCall(data)) yield textOf(placed(data))
    else if (data.type === ITEM_ENDS) {
      const item = asObject(data.item) ?? {}
      const lengths = piecesOf(tail, data.output_index)
      const others = changedEntry(item, ITEMS, { ...change, isLast: item === last, index: 0 })
      for (const [index, other] of others.entries()) {
        const place = { ...placed(data), output_index: Number(placed(data).output_index) + index }
        for (const event of itemEvents(place, item === last ? endedItem(other, change) : other, lengths))
          yield textOf(event)
      }
      added.set(data.output_index, others.length - 1)
    }
  }
}

/** The lengths of the pieces of an item's arguments. */
const piecesOf = (tail: readonly EventBlock[], at: unknown): number[] =>
  tail.flatMap(({ data }) =>
    data?.type === ARGUMENTS && data.output_index === at ? [textOrJson(data.delta).length] : [],
  )

const ARGUMENTS = 'response.function_call_arguments.delta'

/** An event with the whole response, with its type by the status. */
const endedEvent = (data: JsonObject): JsonObject =>
  asObject(data.response)?.status === 'incomplete' ? { ...data, type: 'response.incomplete' } : data

/** The last item, marked as incomplete if the response ends at a limit. */
const endedItem = (item: JsonObject, { end }: ToolChange): JsonObject =>
  end === 'length' ? { ...item, status: 'incomplete' } : item

/** The events of one call at an output index. */
function* itemEvents(place: JsonObject, item: JsonObject, lengths: readonly number[]): Generator<JsonObject> {
  const { item: _, ...at } = place
  const { id: item_id, name, arguments: text } = item
  yield { ...at, type: ITEM_BEGINS, item: { ...item, status: 'in_progress', arguments: '' } }
  for (const delta of sliced(textOrJson(text), lengths)) yield { ...at, type: ARGUMENTS, item_id, delta }
  yield { ...at, type: 'response.function_call_arguments.done', item_id, name, arguments: text }
  yield { ...at, type: ITEM_ENDS, item }
}

/** The calls among the blocks of a message, by their index. */
function streamedBlocks(tail: readonly EventBlock[]): Map<number, StreamedCall> {
  const calls = new Map<number, StreamedCall>()
  for (const { data } of tail) {
    const at = asIndex(data?.index)
    const block = data?.type === BLOCK_BEGINS ? asObject(data.content_block) : undefined
    const text = asObject(data?.delta)?.partial_json
    if (at === undefined) continue
    if (block?.type === 'tool_use') calls.set(at, { entry: { ...block, input: '' }, pieces: [] })
    const call = calls.get(at)
    if (!call || typeof text !== 'string' || text === '') continue
    call.entry.input = `${String(call.entry.input)}${text}`
    call.pieces.push(text.length)
  }
  return calls
}

function* changedBlocks(tail: readonly EventBlock[], change: ToolChange): Generator<SentPiece> {
  const calls = streamedBlocks(tail)
  const last = Math.max(...calls.keys())
  let added = 0
  for (const block of tail) {
    const { data } = block
    const at = asIndex(data?.index)
    const call = at === undefined ? undefined : calls.get(at)
    if (!data) yield block.bytes
    else if (at === undefined) yield rewritten(block, ended(data, change))
    else if (!call) yield rewritten(block, { ...data, index: at + added })
    else if (data.type === 'content_block_stop') {
      const entries = changedEntry(call.entry, STREAMED_BLOCKS, { ...change, isLast: at === last, index: 0 })
      for (const entry of entries) {
        for (const event of blockEvents(at + added, entry, call.pieces)) yield eventText(event)
        added++
      }
      added--
    }
  }
}

/** The events of one block that calls a tool. */
function* blockEvents(index: number, entry: JsonObject, lengths: readonly number[]): Generator<JsonObject> {
  yield { type: BLOCK_BEGINS, index, content_block: { ...entry, input: {} } }
  for (const partial_json of sliced(textOrJson(entry.input), lengths))
    yield { type: 'content_block_delta', index, delta: { type: 'input_json_delta', partial_json } }
  yield { type: 'content_block_stop', index }
}
