// The texts of a request and of a response, by role, read from the shape of each operation; and summaries of prompts
// for lists.

import { isObject, type JsonObject, objectsIn, parsedJson, textOrJson } from '../lib/values.ts'

/** A text of a conversation with the role of its author. */
export interface Saying {
  role: string
  text: string
}

/** The text of a content: a string, or its parts. */
function textOf(content: unknown): string {
  if (typeof content === 'string') return content
  if (Array.isArray(content)) return content.map(textOf).filter(Boolean).join('\n')
  if (!isObject(content)) return ''
  if (typeof content.text === 'string') return content.text
  if (content.content !== undefined) return textOf(content.content)
  return typeof content.type === 'string' ? `[${content.type}]` : ''
}

const callsOf = (calls: unknown): string[] =>
  objectsIn(calls).map((call) => {
    const inside = isObject(call.function) ? call.function : isObject(call.custom) ? call.custom : call
    return `${textOrJson(inside.name ?? 'a tool')}(${textOrJson(inside.arguments ?? inside.input)})`
  })

const messageOf = (message: JsonObject): Saying[] => {
  const texts = [textOf(message.content), ...callsOf(message.tool_calls)].filter(Boolean)
  if (typeof message.refusal === 'string') texts.push(message.refusal)
  if (message.type === 'function_call') texts.push(...callsOf([message]))
  if (message.type === 'function_call_output') texts.push(textOf(message.output))
  return texts.map((text) => ({ role: textOrJson(message.role ?? message.type), text }))
}

/** The texts of a request body, in order; empty if it is not a JSON object. */
export function promptSayings(request: unknown): Saying[] {
  if (!isObject(request)) return []
  const { messages, input, prompt, instructions, message, query } = request
  const before = typeof instructions === 'string' ? [{ role: 'system', text: instructions }] : []
  if (Array.isArray(messages)) return objectsIn(messages).flatMap(messageOf)
  if (Array.isArray(input) && input.every(isObject)) return [...before, ...input.flatMap(messageOf)]
  // An agent receives a message of parts.
  if (isObject(message)) return [{ role: 'user', text: textOf(message.parts) }]
  const text = textOf(input ?? prompt ?? query)
  return text === '' ? before : [...before, { role: 'user', text }]
}

/** The texts of a response, in order. */
export function responseSayings(answer: unknown): Saying[] {
  if (!isObject(answer)) return []
  const { choices, output, text, content } = answer
  if (Array.isArray(choices)) {
    return objectsIn(choices).flatMap((choice) => {
      if (isObject(choice.message)) return messageOf({ role: 'assistant', ...choice.message })
      return typeof choice.text === 'string' ? [{ role: 'assistant', text: choice.text }] : []
    })
  }
  if (Array.isArray(output)) return objectsIn(output).flatMap((one) => messageOf({ role: 'assistant', ...one }))
  const whole = textOf(text ?? content)
  return whole === '' ? [] : [{ role: 'assistant', text: whole }]
}

/** Characters of a stored request that are read for a list: enough for a prompt after a long system prompt. */
export const REQUEST_HEAD = 8_000
/** Maximum length of a prompt and of a model's name in a list. */
const [MAX_PROMPT, MAX_MODEL] = [120, 200]

/** Summary of a request. */
interface RequestBrief {
  /** The first words of the last text of the user, on one line; null if the request has no user text. */
  prompt: string | null
  /** The model as the request names it; null if it names none. */
  model: string | null
}

/** Summary of a request, from the first `REQUEST_HEAD` characters of its stored JSON. */
export function requestBrief(head: string): RequestBrief {
  // A truncated request is not parsed in vain.
  const request = head.length < REQUEST_HEAD ? parsedJson(head) : undefined
  if (request === undefined) return briefOfCut(head)
  const texts = promptSayings(request).filter(({ text }) => text.trim() !== '')
  const { text = null } = texts.findLast(({ role }) => role === 'user') ?? texts.at(-1) ?? {}
  const model = isObject(request) && typeof request.model === 'string' ? request.model : null
  return { prompt: text === null ? null : firstWords(text), model: model?.slice(0, MAX_MODEL) ?? null }
}

/** The start of a JSON string: as much of it as a list may need. */
const STRING = String.raw`"((?:[^"\\]|\\.){0,1000})`
const CUT_MODEL = new RegExp(String.raw`^\s*\{\s*"model"\s*:\s*${STRING}"`)
const CUT_CONTENT = String.raw`"role"\s*:\s*"user"\s*,\s*"content"\s*:\s*(?:\[\s*\{\s*"type"\s*:\s*"\w+"\s*,\s*"text"\s*:\s*)?`
const CUT_PROMPT = new RegExp(String.raw`(?:${CUT_CONTENT}|"(?:input|prompt)"\s*:\s*)${STRING}`, 'g')

/** Summary of a truncated request, which is no complete JSON. */
function briefOfCut(head: string): RequestBrief {
  const [, model] = CUT_MODEL.exec(head) ?? []
  const [, prompt] = [...head.matchAll(CUT_PROMPT)].at(-1) ?? []
  return {
    prompt: prompt === undefined ? null : firstWords(unescaped(prompt)),
    model: model === undefined ? null : unescaped(model).slice(0, MAX_MODEL),
  }
}

/** The start of a JSON string without its quotes. A truncated escape is dropped. */
function unescaped(text: string): string {
  const whole = text.slice(0, 8 * MAX_PROMPT).replace(/(?<!\\)((?:\\\\)*)\\(?:u[\da-f]{0,3})?$/i, '$1')
  const value = parsedJson(`"${whole}"`)
  return typeof value === 'string' ? value : whole
}

function firstWords(text: string): string {
  const line = text
    .slice(0, 4 * MAX_PROMPT)
    .replace(/\s+/g, ' ')
    .trim()
  return line.length <= MAX_PROMPT ? line : `${line.slice(0, MAX_PROMPT - 1).replace(/[\ud800-\udbff]$/, '')}…`
}
