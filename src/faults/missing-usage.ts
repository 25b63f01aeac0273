// missing-usage: the response has no token counts.
import type { FaultContext } from '../contract/core/fault.ts'
import { asObject, type JsonObject, parsedJson } from '../lib/values.ts'
import { onAnswer, skippedAtEnd } from './change.ts'
import { defineFault } from './define.ts'
import { type EventBlock, isStream, mapBlocks, rewritten, type SentPiece, wholeBytes, withBytes } from './wire.ts'

/** Tests clients that count tokens: the response has no `usage`. */
export const missingUsage = defineFault({
  type: 'missing-usage',
  summary: 'The response has no token counts.',
  apply: (_, next, context) =>
    onAnswer(next, context, {
      async change(reply) {
        // Only the gateway receives usage that a provider reports outside of the body.
        const wasSent = () => context.at === 'provider' && !context.direct && reply.usage !== null
        const reason = 'the response has no usage'
        if (wasSent()) context.triggered()
        if (isStream(reply)) {
          const change = (blocks: AsyncGenerator<EventBlock>) =>
            skippedAtEnd(eventsWithoutUsage(blocks, context), context, reason)
          return { ...mapBlocks(reply, context.operation, change), usage: null }
        }
        const bytes = await wholeBytes(reply)
        const value = withoutUsage(parsedJson(new TextDecoder().decode(bytes)))
        if (value) context.triggered()
        else context.skipped(reason)
        // A body can only be read once, so the bytes are sent as they were read.
        const sent = value ? new TextEncoder().encode(JSON.stringify(value)) : bytes
        return { ...withBytes(reply, sent), usage: null }
      },
    }),
})

async function* eventsWithoutUsage(
  blocks: AsyncGenerator<EventBlock>,
  { triggered }: FaultContext,
): AsyncGenerator<SentPiece> {
  for await (const block of blocks) {
    const data = withoutUsage(block.data)
    if (data) triggered()
    const { choices } = data ?? {}
    // A chunk that contains only usage is omitted.
    if (Array.isArray(choices) && choices.length === 0) continue
    yield data ? rewritten(block, data) : block.bytes
  }
}

/** The value without its usage. Undefined if it has none. */
function withoutUsage(value: unknown): JsonObject | undefined {
  const answer = asObject(value)
  if (!answer) return undefined
  const { usage, ...rest } = answer
  if (usage) return rest
  for (const part of ['response', 'message']) {
    const inner = withoutUsage(answer[part])
    if (inner) return { ...answer, [part]: inner }
  }
  return undefined
}
