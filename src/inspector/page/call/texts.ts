// What a request asks and an answer says, in words: read from whatever shape the operation gives them.

/** Something that somebody said. */
export interface Saying {
  role: string
  text: string
}

type Json = Record<string, unknown>
const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value)

/** The text of a content: a string, or its parts. */
function textOf(content: unknown): string {
  if (typeof content === 'string') return content
  if (Array.isArray(content)) return content.map(textOf).filter(Boolean).join('\n')
  if (!isObject(content)) return ''
  if (typeof content.text === 'string') return content.text
  if (content.content !== undefined) return textOf(content.content)
  return typeof content.type === 'string' ? `[${content.type}]` : ''
}

function callsOf(calls: unknown): string[] {
  if (!Array.isArray(calls)) return []
  return calls.filter(isObject).map((call) => {
    const inside = isObject(call.function) ? call.function : isObject(call.custom) ? call.custom : call
    return `${inside.name ?? 'a tool'}(${inside.arguments ?? inside.input ?? ''})`
  })
}

const messageOf = (message: Json): Saying[] => {
  const said = [textOf(message.content), ...callsOf(message.tool_calls)].filter(Boolean)
  if (typeof message.refusal === 'string') said.push(message.refusal)
  if (message.type === 'function_call') said.push(...callsOf([message]))
  if (message.type === 'function_call_output') said.push(textOf(message.output))
  return said.map((text) => ({ role: String(message.role ?? message.type ?? ''), text }))
}

/** What a request says, in order. */
export function requestedIn(request: unknown): Saying[] {
  if (!isObject(request)) return []
  const { messages, input, prompt, instructions } = request
  const before = typeof instructions === 'string' ? [{ role: 'system', text: instructions }] : []
  if (Array.isArray(messages)) return messages.filter(isObject).flatMap(messageOf)
  if (Array.isArray(input) && input.every(isObject)) return [...before, ...input.flatMap(messageOf)]
  const text = textOf(input ?? prompt)
  return text === '' ? before : [...before, { role: 'user', text }]
}

/** What an answer says. */
export function answeredIn(answer: unknown): Saying[] {
  if (!isObject(answer)) return []
  const { choices, output, text, content } = answer
  if (Array.isArray(choices)) {
    return choices.filter(isObject).flatMap((choice) => {
      if (isObject(choice.message)) return messageOf({ role: 'assistant', ...choice.message })
      return typeof choice.text === 'string' ? [{ role: 'assistant', text: choice.text }] : []
    })
  }
  if (Array.isArray(output)) return output.filter(isObject).flatMap((one) => messageOf({ role: 'assistant', ...one }))
  const whole = textOf(text ?? content)
  return whole === '' ? [] : [{ role: 'assistant', text: whole }]
}
