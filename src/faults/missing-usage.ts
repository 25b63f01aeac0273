// missing-usage: an answer does not say how many tokens it took.
import type { FaultContext } from '../contract/core/fault.ts'
import { asObject, type JsonObject, parsedJson } from '../lib/values.ts'
import { onAnswer, orUnset } from './change.ts'
import { defineFault } from './define.ts'
import { type EventBlock, isStream, mapBlocks, rewritten, streamBytes, wholeBytes } from './wire.ts'

/** Tests clients that count tokens: the response has no `usage`. */
export const missingUsage = defineFault({
  type: 'missing-usage',
  summary: 'The response has no token counts.',
  points: ['provider', 'gateway'],
  options: {},
  example: {},
  apply: (_, next, context) =>
    onAnswer(next, context, {
      async change(reply) {
        // What a provider says beside the body, only the gateway hears.
        const wasSent = () => context.at === 'provider' && !context.direct && reply.usage !== null
        const none = 'the response has no usage'
        if (wasSent()) context.triggered()
        if (isStream(reply)) {
          const change = (blocks: AsyncGenerator<EventBlock>) => orUnset(uncounted(blocks, context), context, none)
          return { ...mapBlocks(reply, context.operation, change), usage: null }
        }
        const { contentType } = streamBytes(reply)
        const bytes = await wholeBytes(reply)
        const value = without(parsedJson(new TextDecoder().decode(bytes)))
        if (value) context.triggered()
        else context.skipped(none)
        // The bytes of a provider can be read once: they go on as they were read.
        const left = value ? new TextEncoder().encode(JSON.stringify(value)) : bytes
        return { ...reply, usage: null, body: { kind: 'bytes', contentType, bytes: left } }
      },
    }),
})

async function* uncounted(blocks: AsyncGenerator<EventBlock>, { triggered }: FaultContext): AsyncGenerator<string> {
  for await (const block of blocks) {
    const data = without(block.data)
    if (data) triggered()
    const { choices } = data ?? {}
    // A chunk that is there for the counts alone is left out.
    if (Array.isArray(choices) && choices.length === 0) continue
    yield data ? rewritten(block, data) : block.text
  }
}

/** The value without its counts; undefined when it has none. */
function without(value: unknown): JsonObject | undefined {
  const answer = asObject(value)
  if (!answer) return undefined
  const { usage, ...rest } = answer
  if (usage) return rest
  for (const part of ['response', 'message']) {
    const inner = without(answer[part])
    if (inner) return { ...answer, [part]: inner }
  }
  return undefined
}
