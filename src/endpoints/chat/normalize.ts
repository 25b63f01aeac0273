// Reads chat completions and their chunks of any origin; all other code uses its result.
import type { ChatCompletion } from '../../contract/router/chat.ts'
import { asIndex, asList, asObject, asText, type JsonObject, objectsIn, textOrJson } from '../../lib/values.ts'

/** The text fields of a message; a stream sends them in pieces. */
const TEXT_FIELDS = [
  'content',
  'refusal',
  'reasoning',
  'reasoning_content',
  'reasoning_signature',
  'redacted_reasoning',
] as const
type TextField = (typeof TEXT_FIELDS)[number]
const TEXT_NAMES: ReadonlySet<string> = new Set(TEXT_FIELDS)

/** A tool call, or the part that a chunk adds. */
export interface NormalCall {
  /** Its number among the calls of the message, if sent. */
  index?: number | undefined
  id?: string | undefined
  /** Whether it calls a custom tool, which takes a plain text. */
  custom: boolean
  name?: string | undefined
  /** The arguments of a function as JSON, or the text for a custom tool. */
  input: string
  /** The provider's signature, which clients must send back. */
  signature?: string | undefined
}

/** The audio of a message, or the part that a chunk adds. */
export interface NormalAudio {
  id?: string | undefined
  data: string
  transcript: string
  expires_at?: number | undefined
}

/** A choice, or the part that a chunk adds. */
export interface NormalChoice {
  index: number
  /** Whether it has a message or a part of one. */
  hasMessage: boolean
  texts: Partial<Record<TextField, string>>
  calls: readonly NormalCall[]
  functionCall?: { name?: string | undefined; arguments: string } | undefined
  audio?: NormalAudio | undefined
  logprobs: ChatCompletion['choices'][number]['logprobs']
  /** The finish reason; undefined until it arrives. */
  finish?: string | undefined
}

/** A chat completion, or one of its chunks. */
export interface NormalChat {
  /** The received object; empty for any other value. */
  data: JsonObject
  choices: NormalChoice[]
  usage?: JsonObject | undefined
}

/** Reads a chat completion or a chunk; invalid parts are left out. */
export function normalizeChat(value: unknown): NormalChat {
  const data = asObject(value) ?? {}
  const choices: NormalChoice[] = []
  // A stream has thousands of these, nearly all with one choice.
  for (const item of asList(data.choices)) {
    const choice = asObject(item)
    if (choice) choices.push(choiceOf(choice, choices.length))
  }
  return { data, choices, usage: asObject(data.usage) }
}

/** All fields other than choices and usage. */
export function chatFrame({ data }: Pick<NormalChat, 'data'>): JsonObject {
  const { choices: _, usage: __, ...frame } = data
  return frame
}

const NO_CALLS: readonly NormalCall[] = []

function choiceOf(choice: JsonObject, position: number): NormalChoice {
  const message = asObject(choice.delta) ?? asObject(choice.message)
  const texts: NormalChoice['texts'] = {}
  if (message) {
    // A piece has one or two fields, so looping over them beats looking up each text field.
    for (const field in message) {
      const value = message[field]
      if (value == null || !TEXT_NAMES.has(field)) continue
      const text = typeof value === 'string' ? value : contentOf(value)
      if (text !== undefined) texts[field as TextField] = text
    }
  }
  return {
    index: asIndex(choice.index) ?? position,
    hasMessage: message !== undefined,
    texts,
    calls: message?.tool_calls ? objectsIn(message.tool_calls).map(callOf) : NO_CALLS,
    functionCall: message?.function_call ? functionOf(message.function_call) : undefined,
    audio: message?.audio ? audioOf(message.audio) : undefined,
    logprobs: choice.logprobs ? logprobsIn(choice.logprobs) : null,
    finish: asText(choice.finish_reason) || undefined,
  }
}

/** A text, or the joined texts of content parts; undefined for anything else. */
function contentOf(value: unknown): string | undefined {
  if (!Array.isArray(value)) return asText(value)
  // A provider may send millions of parts.
  let text = ''
  for (const part of value as unknown[]) text += asText(asObject(part)?.text) ?? ''
  return text
}

function callOf(call: JsonObject): NormalCall {
  const customCall = asObject(call.custom)
  const custom = customCall !== undefined || call.type === 'custom'
  const called = customCall ?? asObject(call.function) ?? {}
  return {
    index: asIndex(call.index),
    id: asText(call.id) || undefined,
    custom,
    name: asText(called.name) || undefined,
    input: textOrJson(custom ? called.input : called.arguments),
    signature: asText(call.thought_signature) || undefined,
  }
}

function functionOf(value: unknown): NormalChoice['functionCall'] {
  const called = asObject(value)
  return called && { name: asText(called.name), arguments: textOrJson(called.arguments) }
}

function audioOf(value: unknown): NormalAudio | undefined {
  const audio = asObject(value)
  if (!audio) return undefined
  const expires = audio.expires_at
  return {
    id: asText(audio.id),
    data: asText(audio.data) ?? '',
    transcript: asText(audio.transcript) ?? '',
    expires_at: typeof expires === 'number' ? expires : undefined,
  }
}

type Logprobs = NonNullable<NormalChoice['logprobs']>

function logprobsIn(value: unknown): Logprobs | null {
  const logprobs = asObject(value)
  const listOf = (list: unknown) => (Array.isArray(list) ? (list as Logprobs['content']) : null)
  const [content, refusal] = [listOf(logprobs?.content), listOf(logprobs?.refusal)]
  return content || refusal ? { content, refusal } : null
}

/** Why a value is not a chat completion; undefined for a valid one. A filtered choice needs no message. */
export const chatProblem = (value: unknown): string | undefined =>
  choicesProblem(value, normalizeChat(value).choices, { field: 'message', isIn: ({ hasMessage }) => hasMessage })

/** Why a value has no complete choices; undefined for a valid one. A filtered choice needs no content. */
export function choicesProblem<Choice extends { finish?: string | undefined }>(
  value: unknown,
  choices: readonly Choice[],
  { field, isIn }: { field: string; isIn(choice: Choice): boolean },
): string | undefined {
  const completion = asObject(value)
  if (!completion) return 'it is not an object'
  if (choices.length === 0) return "it has no 'choices'"
  if (choices.length < asList(completion.choices).length) return 'a choice is not an object'
  const open = choices.findIndex(({ finish }) => finish === undefined)
  if (open >= 0) return `choices[${open}] has no finish reason`
  const empty = choices.findIndex((choice) => !isIn(choice) && choice.finish !== 'content_filter')
  return empty < 0 ? undefined : `choices[${empty}] has no '${field}'`
}

/** Why the data of an event is not a chunk of a chat or legacy completion. A chunk has choices, possibly none, or usage. */
export function chunkProblem({ choices, usage }: JsonObject): string | undefined {
  return Array.isArray(choices) || (choices == null && asObject(usage)) ? undefined : "it has no 'choices'"
}

/** Whether a choice contains visible content. */
export const hasChatContent = ({ texts, calls, functionCall, audio }: NormalChoice): boolean =>
  calls.length > 0 ||
  functionCall !== undefined ||
  audio !== undefined ||
  TEXT_FIELDS.some((field) => field !== 'reasoning_signature' && Boolean(texts[field]))
