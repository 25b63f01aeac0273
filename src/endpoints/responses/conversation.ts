// The conversation of a call for a response. Each stored response has a summary of all steps before it, so that calls
// take the same time in a long chain as in a short one.
import { fileTokens, imageTokens } from '../../answers/input-tokens.ts'
import { checkSchemaField } from '../../answers/schemas.ts'
import { countCached } from '../../answers/text-answer.ts'
import type { ModelConversation } from '../../contract/core/history.ts'
import type { KeyValueEntry } from '../../contract/core/key-value.ts'
import type { AnswerContext, CountTokens } from '../../contract/core/operation.ts'
import type { InputItem, InputMessage, MessagePart, ResponsesRequest } from '../../contract/router/responses.ts'
import type { OutputItem } from '../../contract/router/responses-answer.ts'
import { fingerprint } from '../../lib/ids.ts'
import { isChangedReasoning } from '../../lib/issued.ts'
import { asList, asObject, type JsonObject, sumOf } from '../../lib/values.ts'
import { checkEffort } from '../../providers/catalogue.ts'
import { normalizeResponse } from './normalize.ts'

/** The content of an input message: a text or a list of parts. */
export type MessageContent = InputMessage['content']

/** Whether an input item is a message. */
export const isMessage = (item: InputItem): item is InputMessage => 'role' in item && 'content' in item

/** Whether an item is a tool result. */
export const isResult = (
  item: InputItem,
): item is Extract<InputItem, { type: 'function_call_output' | 'custom_tool_call_output' }> =>
  item.type === 'function_call_output' || item.type === 'custom_tool_call_output'

/** The steps in the body; a plain text is one user message. */
export const ownItems = ({ input }: ResponsesRequest): InputItem[] =>
  typeof input === 'string' ? [{ type: 'message', role: 'user', content: input }] : input

/** All text of a content; images and files are ignored. */
export function itemText(content: MessageContent): string {
  if (typeof content === 'string') return content
  return content
    .map((part) => (part.type === 'refusal' ? part.refusal : 'text' in part ? String(part.text) : ''))
    .join('')
}

/** The parts of all messages and tool results, in order. */
export const partsOf = (items: readonly InputItem[]): MessagePart[] =>
  items.flatMap((item): MessagePart[] => {
    const content = isMessage(item) ? item.content : isResult(item) ? item.output : ''
    return typeof content === 'string' ? [] : content
  })

// Count of OpenAI's cookbook: 3 tokens for each message.
const PER_ITEM = 3

function contentTokens(content: MessageContent, count: CountTokens): number {
  const parts = typeof content === 'string' ? [] : content
  const partTokens = (part: MessagePart): number => {
    if (part.type === 'input_image') return imageTokens(part.image_url ?? '', part.detail)
    return part.type === 'input_file' && part.file_data ? fileTokens(part.file_data, count) : 0
  }
  return count(itemText(content)) + sumOf(parts, partTokens)
}

function itemTokens(item: InputItem, count: CountTokens): number {
  if (isMessage(item)) return PER_ITEM + count(item.role) + contentTokens(item.content, count)
  switch (item.type) {
    case 'function_call':
      return PER_ITEM + count(`${item.name}${item.arguments}`)
    case 'custom_tool_call':
      return PER_ITEM + count(`${item.name}${item.input}`)
    case 'function_call_output':
    case 'custom_tool_call_output':
      return PER_ITEM + contentTokens(item.output, count)
    case 'reasoning':
      return sumOf(item.summary ?? [], ({ text }) => count(text))
    case 'item_reference':
      return 0
    default:
      return count(JSON.stringify(item))
  }
}

/** Returns the number of tokens of some steps; `count` counts their texts. */
const itemsTokens = (items: readonly InputItem[], count: CountTokens = countCached): number =>
  sumOf(items, (item) => itemTokens(item, count))

/** Returns the number of tokens of instructions, which count as a message before the conversation. */
export const instructionsTokens = (instructions: string | null | undefined, count: CountTokens): number =>
  instructions ? PER_ITEM + count(instructions) : 0

/** A summary of the steps up to some point. */
interface Summary {
  /** Texts of the system and developer messages. */
  system: readonly string[]
  /** Text of the last user message. */
  user: string
  /** Fingerprint of the first user message, if any. The text itself would be stored again with every response. */
  first?: string
  /** Number of user messages. */
  turn: number
  tokens: number
  /** Ids and names of the tool calls in the last of these steps. */
  calls?: readonly (readonly [id: string, name: string])[]
}

/** A stored response: its own steps, the response before it, and the summary of all steps. */
interface StoredResponse {
  previous: string | null
  items: InputItem[]
  summary: Summary
}
const isText = (value: unknown) => typeof value === 'string'
const isSummary = (value: unknown): boolean => {
  const { system, user, first = '', turn, tokens, calls = [] } = asObject(value) ?? {}
  const isCalls = Array.isArray(calls) && calls.every((call) => Array.isArray(call) && call.every(isText))
  const isNumbers = Number.isFinite(turn) && Number.isFinite(tokens)
  return Array.isArray(system) && system.every(isText) && isText(user) && isText(first) && isNumbers && isCalls
}
const isStoredResponse = (value: unknown): value is StoredResponse => {
  const { items, summary } = asObject(value) ?? {}
  return Array.isArray(items) && items.every((item) => asObject(item) !== undefined) && isSummary(summary)
}

const KIND = 'response'
/** Marks a response that was not stored on request. */
const UNSTORED_KIND = 'unstored-response'
const isUnstored = (value: unknown): value is true => value === true
const BEGINNING: Summary = { system: [], user: '', turn: 0, tokens: 0 }

/** The summary after more steps; their tokens are counted on demand. */
function continued(earlier: Summary, items: readonly InputItem[]): Summary {
  const { system, user, turn } = earlier
  const messages = items.filter(isMessage)
  const users = messages.filter(({ role }) => role === 'user')
  const instructions = messages.filter(({ role }) => role === 'system' || role === 'developer')
  const [firstUser] = users
  const first = earlier.first ?? (firstUser && fingerprint(itemText(firstUser.content)))
  const last = users.at(-1)
  return {
    system: [...system, ...instructions.map(({ content }) => itemText(content))],
    user: last ? itemText(last.content) : user,
    ...(first !== undefined && { first }),
    turn: turn + users.length,
    get tokens() {
      return earlier.tokens + itemsTokens(items)
    },
    calls: callsIn(items),
  }
}

const callsIn = (items: readonly InputItem[]) =>
  items.flatMap((item) =>
    item.type === 'function_call' || item.type === 'custom_tool_call' ? [[item.call_id, item.name] as const] : [],
  )

/** The names of called tools by call id, in the input and in the previous response. */
export const callNames = (request: RequestWithHistory): ReadonlyMap<string, string> =>
  new Map([...(request[EARLIER]?.calls ?? []), ...callsIn(ownItems(request))])

// The summary of earlier responses travels with the request, under a key that no body can contain.
const EARLIER = Symbol('earlier')
type RequestWithHistory = ResponsesRequest & { [EARLIER]?: Summary }

/** The summary of the conversation, from its first response through the input of this call. */
export const summaryOf = (request: RequestWithHistory): Summary =>
  continued(request[EARLIER] ?? BEGINNING, ownItems(request))

/** Returns the number of tokens of that conversation; `count` counts the texts of this call's input. */
export const conversationTokens = (request: RequestWithHistory, count: CountTokens): number =>
  (request[EARLIER] ?? BEGINNING).tokens + itemsTokens(ownItems(request), count)

/** The id of an output item. It contains the call, so that a reference to the item can be resolved. */
export const itemId = (prefix: string, call: string, index: number): string => `${prefix}_${call}_${index}`
const ITEM_ID = /^[a-z]+_([0-9A-HJKMNP-TV-Z]{26})_\d+$/

/** The id of a call's response. */
export const responseId = (call: string): string => `resp_${call}`
const RESPONSE_ID = /^resp_[0-9A-HJKMNP-TV-Z]{26}$/

/** Path of the schema for a structured response in the request. */
export const RESPONSES_SCHEMA_PARAM = 'text.format.schema'

/**
 * The request with the stored conversation that it continues. References to unknown items stay as they are, and are
 * ignored.
 * @throws ApiError 400 when its schema is malformed or its model does not support the effort
 */
export async function resolve(request: ResponsesRequest, answerContext: AnswerContext): Promise<ResponsesRequest> {
  checkEffort(request.model, request.reasoning?.effort, 'reasoning.effort')
  const format = request.text?.format
  if (format?.type === 'json_schema') await checkSchemaField(format.schema, RESPONSES_SCHEMA_PARAM, answerContext)
  const follow = (reference: InputItem): InputItem => {
    if (reference.type !== 'item_reference') return reference
    const { id } = reference
    const stored = storedResponse(responseId(ITEM_ID.exec(id)?.[1] ?? ''), answerContext)
    return stored?.items.find((item) => 'id' in item && item.id === id) ?? reference
  }
  const input = typeof request.input === 'string' ? request.input : request.input.map(follow)
  const previous = request.previous_response_id
  const earlier = previous == null ? BEGINNING : storedResponse(previous, answerContext)?.summary
  return { ...request, input, ...(earlier && { [EARLIER]: earlier }) } as RequestWithHistory
}

type ResponseStore = Pick<AnswerContext, 'keyValues' | 'workspace' | 'now'>

// Scoped by workspace, because ids are not secret: a session that is reset produces the same ones.
const keptId = (id: string, { workspace }: Pick<ResponseStore, 'workspace'>) => `${workspace()}/${id}`
const storedResponse = (id: string, store: ResponseStore) =>
  store.keyValues.get(KIND, keptId(id, store), store.now, isStoredResponse)

const wasUnstored = (id: string, store: ResponseStore) =>
  store.keyValues.get(UNSTORED_KIND, keptId(id, store), store.now, isUnstored) === true

/** Maximum number of earlier responses that are searched for a call. */
const MAX_STEPS_BACK = 1_000

/** The conversation of a request, and what is known about the responses that it refers to. */
export function responsesConversation(request: RequestWithHistory, answerContext: AnswerContext): ModelConversation {
  const previous = request.previous_response_id
  const continued = previous == null ? undefined : request[EARLIER]
  return {
    form: 'responses',
    items: asList(ownItems(request)),
    earlier: {
      missing: previous != null && !continued ? previous : undefined,
      openCalls: continued?.calls?.map(([id]) => id),
      wasCalled(id) {
        let step = previous == null ? undefined : storedResponse(previous, answerContext)
        for (let back = 0; step && back < MAX_STEPS_BACK; back++) {
          if (callsIn(step.items).some(([called]) => called === id)) return true
          step = step.previous === null ? undefined : storedResponse(step.previous, answerContext)
        }
        return false
      },
      itemsBeside(id) {
        const call = ITEM_ID.exec(id)?.[1]
        if (call === undefined) return 'unstored'
        const stored = storedResponse(responseId(call), answerContext)
        if (stored) return stored.items as readonly JsonObject[]
        return wasUnstored(responseId(call), answerContext) ? 'unstored' : undefined
      },
      mayHaveStored: (id) => RESPONSE_ID.test(id) && !wasUnstored(id, answerContext),
      isChanged: (id, encrypted) => isChangedReasoning(answerContext.secret, id, encrypted),
    },
  }
}

/** Lifetime of a stored response in ms of the session's clock: the same as OpenAI's. */
const RESPONSE_LIFE = 30 * 24 * 60 * 60 * 1000

/** The entries that a response stores for calls that continue it. */
export function keep(
  request: ResponsesRequest,
  answer: object,
  store: Pick<ResponseStore, 'workspace' | 'now'>,
): readonly KeyValueEntry[] {
  const { id, status, output } = normalizeResponse(answer)
  if (!id || (status !== 'completed' && status !== 'incomplete')) return []
  const about = { id: keptId(id, store), expires: store.now + RESPONSE_LIFE }
  if (request.store === false) return [{ kind: UNSTORED_KIND, value: true, ...about }]
  const outputItems = output.flatMap(storedItem)
  const value: StoredResponse = {
    previous: request.previous_response_id ?? null,
    items: [...ownItems(request), ...outputItems],
    summary: continued(summaryOf(request), outputItems),
  }
  return [{ kind: KIND, value, ...about }]
}

/** An output item as an input step, without parts and items that only its provider understands. */
function storedItem(item: OutputItem): InputItem[] {
  if (item.type === 'message') {
    const supported = item.content.filter(({ type }) => type === 'output_text' || type === 'refusal')
    return [{ ...item, content: supported } as InputItem]
  }
  return 'role' in item || FOREIGN.includes(item.type) ? [] : [item as InputItem]
}
// Steps of requests that no response has.
const FOREIGN = ['function_call_output', 'custom_tool_call_output', 'item_reference']
