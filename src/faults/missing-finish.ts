// missing-finish: the response has no finish reason or completed status.
import { asObject, type JsonObject } from '../lib/values.ts'
import { changeJson } from './change.ts'
import { defineFault } from './define.ts'
import { rewritten } from './wire.ts'

/** Tests clients that depend on a finish reason or a completed status. */
export const missingFinish = defineFault({
  type: 'missing-finish',
  summary: 'The response has no finish reason or completed status.',
  inAnswer: true,
  apply: (_, next, context) =>
    changeJson(next, context, {
      whole: withoutFinish,
      async *stream(blocks) {
        for await (const block of blocks) {
          const { data, bytes } = block
          const last = data !== undefined && context.operation.events?.complete([{ data }])
          const open = data && withoutFinish(data)
          if (last || open) context.triggered()
          if (open) yield rewritten(block, open)
          else if (!last) yield bytes
        }
      },
      reason: 'the response has no finish reason',
    }),
})

/** A response or chunk without its finish reasons. Undefined if it has none. */
function withoutFinish(answer: JsonObject): JsonObject | undefined {
  const { choices, status } = answer
  if (Array.isArray(choices) && choices.some((choice) => asObject(choice)?.finish_reason != null)) {
    const open = (choice: unknown) => (asObject(choice) ? { ...asObject(choice), finish_reason: null } : choice)
    return { ...answer, choices: choices.map(open) }
  }
  return status === 'completed' || status === 'incomplete' ? { ...answer, status: 'in_progress' } : undefined
}
