// Finds the tool calls of a response whose arguments are truncated, in the stored response or in the bytes that were sent.
import { callId } from './question.ts'
import { asIndex, asObject, asText, type JsonObject, objectsIn, parsedJson } from './values.ts'

/** Ids of the truncated tool calls in a response of any API, without the prefix of that API (`call_`, `toolu_`). */
export function cutCalls(answer: unknown): string[] {
  const { choices, output, content, stop_reason: stop } = asObject(answer) ?? {}
  const messages = objectsIn(choices).flatMap(({ message }) => objectsIn([message]))
  const calls = messages.flatMap(({ tool_calls }) => objectsIn(tool_calls))
  const blocks = objectsIn(content).filter(({ type }) => type === 'tool_use')
  const last = objectsIn(content).at(-1)
  return [
    ...calls.filter(({ function: called }) => isTruncated(asObject(called)?.arguments)).map(({ id }) => id),
    ...objectsIn(output)
      .filter((item) => item.type === 'function_call' && isTruncated(item.arguments))
      .map((item) => item.call_id),
    // A whole message cannot contain invalid JSON, so its input is empty.
    ...blocks
      .filter((block) => isTruncated(block.input) || (stop === 'max_tokens' && block === last && isEmpty(block.input)))
      .map(({ id }) => id),
  ].flatMap((id) => (asText(id) === undefined ? [] : [callId(String(id))]))
}

/** The same for a body as it was sent: JSON, or the events of a stream. */
export function cutCallsSent(body: string): string[] {
  const whole = parsedJson(body)
  return cutCalls(whole === undefined ? assembled(body) : whole)
}

/** The tool calls of a stream of any API, assembled. */
function assembled(stream: string): JsonObject {
  const calls: { id: unknown; function: { arguments: string } }[] = []
  const output: unknown[] = []
  const content: JsonObject[] = []
  let stop: unknown
  for (const [, json = ''] of stream.matchAll(/^data: ?(\{.*)$/gm)) {
    const event = asObject(parsedJson(json)) ?? {}
    for (const { index, id, function: called } of objectsIn(
      objectsIn(event.choices).flatMap(({ delta }) => objectsIn(asObject(delta)?.tool_calls)),
    )) {
      const call = (calls[asIndex(index) ?? 0] ??= { id, function: { arguments: '' } })
      call.function.arguments += asText(asObject(called)?.arguments) ?? ''
    }
    if (event.type === 'response.output_item.done') output.push(event.item)
    const at = asIndex(event.index) ?? 0
    if (event.type === 'content_block_start') content[at] = { ...asObject(event.content_block) }
    const piece = asText(asObject(event.delta)?.partial_json)
    const block = content[at]
    if (piece !== undefined && block) block.input = (asText(block.input) ?? '') + piece
    stop = asObject(event.delta)?.stop_reason ?? stop
  }
  const choices = [{ message: { tool_calls: calls.filter(Boolean) } }]
  return { choices, output, content: content.filter(Boolean), stop_reason: stop }
}

const isEmpty = (input: unknown): boolean => Object.keys(asObject(input) ?? { some: true }).length === 0

/** Whether a text is the beginning of a JSON object or list. Other invalid JSON does not count. */
function isTruncated(text: unknown): boolean {
  if (typeof text !== 'string' || !/^\s*[{[]/.test(text) || parsedJson(text) !== undefined) return false
  let depth = 0
  let inString = false
  for (let at = 0; at < text.length; at++) {
    const character = text[at]
    if (inString && character === '\\') at++
    else if (character === '"') inString = !inString
    else if (!inString && (character === '{' || character === '[')) depth++
    else if (!inString && (character === '}' || character === ']')) depth--
  }
  return inString || depth > 0
}
