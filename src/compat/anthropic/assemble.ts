// Assembles a message of Anthropic's API from the events of a stream.
import type { EventData } from '../../lib/sse.ts'
import { asObject, asText, type JsonObject, parsedJson } from '../../lib/values.ts'

/** The message so far, including unfinished blocks. */
export function assembleMessage(events: readonly EventData[]): JsonObject {
  let message: JsonObject = {}
  const blocks: JsonObject[] = []
  const inputs = new Map<number, string>()
  for (const event of events) {
    const data = asObject(event.data) ?? {}
    const index = Number(data.index)
    if (data.type === 'message_start') message = { ...asObject(data.message) }
    else if (data.type === 'content_block_start') blocks[index] = { ...asObject(data.content_block) }
    else if (data.type === 'content_block_delta') addDelta(blocks[index], asObject(data.delta) ?? {}, { inputs, index })
    else if (data.type === 'message_delta') {
      const usage = { ...asObject(message.usage), ...asObject(data.usage) }
      message = { ...message, ...asObject(data.delta), usage }
    }
  }
  for (const [index, json] of inputs) {
    const block = blocks[index]
    if (block) block.input = parsedJson(json) ?? json
  }
  return { ...message, content: blocks.filter(Boolean) }
}

/** Fields of a block that fields of the same name extend. */
const TEXTS = ['text', 'thinking', 'signature']

function addDelta(
  block: JsonObject | undefined,
  delta: JsonObject,
  { inputs, index }: { inputs: Map<number, string>; index: number },
): void {
  if (!block) return
  for (const name of TEXTS) {
    const text = asText(delta[name])
    if (text) block[name] = (asText(block[name]) ?? '') + text
  }
  if (delta.citation !== undefined) {
    const before = Array.isArray(block.citations) ? (block.citations as unknown[]) : []
    block.citations = [...before, delta.citation]
  }
  const json = asText(delta.partial_json)
  if (json !== undefined) inputs.set(index, (inputs.get(index) ?? '') + json)
}
